//! The sources of published crates.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::MetadataCommand;

use crate::{command::Step, target};

/// A published crate's source.
pub(crate) struct Published {
    /// Its directory in cargo's store, or a vendored copy. Must not be changed.
    stored: PathBuf,
}

impl Published {
    /// Fetches a crate from cargo's registry, in a version that meets the requirement.
    pub(crate) fn fetch(name: &str, requirement: &str) -> Result<Self> {
        ensure!(
            is_name(name),
            "`{name}` is not the name of a published crate"
        );
        let scratch = target::directory("published").join(name);
        write_package(
            &scratch,
            &format!("[dependencies]\n{name} = \"{requirement}\"\n"),
        )?;
        let manifest = scratch.join("Cargo.toml");
        // That of an earlier run would choose the version of then.
        let lock_file = scratch.join("Cargo.lock");
        if lock_file.exists() {
            fs::remove_file(lock_file)?;
        }
        let metadata = Step::cargo(&["metadata", "--format-version", "1", "--manifest-path"])
            .args([&manifest])
            .read()
            .with_context(|| format!("cargo does not find `{name}` {requirement}"))?;
        let metadata = MetadataCommand::parse(metadata)?;
        let package = metadata
            .packages
            .into_iter()
            .find(|package| *package.name == name);
        let stored = match package {
            Some(package) => package.manifest_path.parent().expect("a file").into(),
            None => vendor(&manifest, name)?,
        };
        Ok(Self { stored })
    }

    /// Makes a fresh copy of the source; returns its manifest.
    pub(crate) fn copy_to(&self, directory: &Path) -> Result<PathBuf> {
        if directory.exists() {
            fs::remove_dir_all(directory)?;
        }
        copy(&self.stored, directory)?;
        let manifest = directory.join("Cargo.toml");
        let text = fs::read_to_string(&manifest)?;
        // Otherwise cargo would take it for a member of the workspace around it.
        fs::write(&manifest, text + "\n[workspace]\n")?;
        Ok(manifest)
    }
}

/// Whether a crate can have this name. It becomes a directory below ours, so that a path instead of
/// a name would overwrite what is there.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(is_allowed)
}

/// Writes a package without code, a workspace of its own, whose manifest ends with these lines.
pub(crate) fn write_package(directory: &Path, lines: &str) -> Result<()> {
    fs::create_dir_all(directory.join("src"))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"scratch\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [workspace]\n\n{lines}"
    );
    fs::write(directory.join("Cargo.toml"), manifest)?;
    Ok(())
}

/// Copies all dependencies of a package beside its manifest, and returns the directory of one. A
/// crate without a library cannot be used as a dependency, so cargo's metadata leaves it out, but
/// its source is copied.
fn vendor(manifest: &Path, name: &str) -> Result<PathBuf> {
    let directory = manifest.with_file_name("vendor");
    Step::cargo(&["vendor", "--quiet", "--manifest-path"])
        .args([manifest, &directory])
        .read()?;
    let stored = directory.join(name);
    ensure!(stored.is_dir(), "cargo did not fetch `{name}`");
    Ok(stored)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces a bug: with the path of a project instead of a name, its manifest and its source
    /// were overwritten.
    #[test]
    fn a_path_is_not_the_name_of_a_crate() {
        let name = format!("xtask-published-{}", std::process::id());
        let project = std::env::temp_dir().join(name);
        fs::create_dir_all(&project).unwrap();
        let manifest = project.join("Cargo.toml");
        fs::write(&manifest, "# of a user").unwrap();
        let path = project.to_str().unwrap();
        let error = Published::fetch(path, "*").err().unwrap().to_string();
        assert_eq!(
            error,
            format!("`{path}` is not the name of a published crate")
        );
        assert_eq!(fs::read_to_string(&manifest).unwrap(), "# of a user");
        fs::remove_dir_all(&project).unwrap();
        for name in ["", ".", "../..", "a b", "a/b", "7zip"] {
            assert!(!is_name(name), "{name}");
        }
        assert!(
            ["rayon-core", "st3", "Inflector", "fork_union"]
                .into_iter()
                .all(is_name)
        );
    }
}
