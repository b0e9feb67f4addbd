//! The programs of a crate that is tried out.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};
use cargo_metadata::{MetadataCommand, Package};

use crate::{command::Step, root};

/// Checks that a crate has a program, since cargo notices only after it has compiled what a library
/// needs.
pub(super) fn check(manifest: &Path) -> Result<Package> {
    let metadata = Step::cargo(&["metadata", "--no-deps", "--format-version", "1"])
        .args(["--manifest-path".as_ref(), manifest.as_os_str()])
        .read()?;
    let mut packages = MetadataCommand::parse(metadata)?.packages;
    let package = packages.pop().context("a manifest without a package")?;
    if !package.targets.iter().any(|target| target.is_bin()) {
        bail!(
            "{} {} is a library: it has no program to run",
            package.name,
            package.version
        );
    }
    Ok(package)
}

/// Makes a crate depend on our pool with the feature `live`, which brings `trace`, so that the
/// drop-in has it too.
pub(super) fn add_trace(manifest: &Path) -> Result<()> {
    let text = fs::read_to_string(manifest)?;
    // A TOML string that needs no escapes also with the separators of Windows.
    let path = root().join("pool-std");
    let table = format!(
        "\n[dependencies.pool-std]\npath = '{}'\nfeatures = [\"live\"]\n",
        path.display()
    );
    Ok(fs::write(manifest, text + &table)?)
}

/// Returns why cargo built no program of a crate: each needs features that were not chosen.
pub(super) fn why_none_is_built(package: &Package) -> String {
    let programs = package.targets.iter().filter(|target| target.is_bin());
    let needs = programs.map(|program| {
        let features = program.required_features.join(",");
        format!("`{}` needs --features {features}", program.name)
    });
    let needs: Vec<_> = needs.collect();
    format!(
        "{} has no program with these features: {}",
        package.name,
        needs.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;
    use crate::published;

    fn package(name: &str, lines: &str) -> PathBuf {
        let name = format!("xtask-programs-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        published::write_package(&directory, lines).unwrap();
        directory
    }

    #[test]
    fn a_library_is_said_to_have_no_program() {
        let directory = package("library", "");
        let error = check(&directory.join("Cargo.toml")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "scratch 0.0.0 is a library: it has no program to run"
        );
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_program_names_the_features_that_it_needs() {
        let directory = package(
            "program",
            "[features]\ncli = []\n[[bin]]\nname = \"tool\"\nrequired-features = [\"cli\"]\n",
        );
        fs::create_dir_all(directory.join("src/bin")).unwrap();
        fs::write(directory.join("src/bin/tool.rs"), "fn main() {}\n").unwrap();
        let package = check(&directory.join("Cargo.toml")).unwrap();
        assert_eq!(
            why_none_is_built(&package),
            "scratch has no program with these features: `tool` needs --features cli"
        );
        fs::remove_dir_all(&directory).unwrap();
    }
}
