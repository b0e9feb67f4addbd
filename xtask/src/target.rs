//! Where cargo builds. A user may have chosen another directory than `target`, by
//! `CARGO_TARGET_DIR` or in a configuration of cargo's.

use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

use anyhow::{Context, Result};
use cargo_metadata::{Message, MetadataCommand};

use crate::command::Step;

/// Returns a directory within the one where cargo builds this workspace.
pub(crate) fn directory(name: impl AsRef<Path>) -> PathBuf {
    static OF_WORKSPACE: OnceLock<PathBuf> = OnceLock::new();
    OF_WORKSPACE
        .get_or_init(|| {
            let metadata = Step::cargo(&["metadata", "--no-deps", "--format-version", "1"]);
            of(metadata).expect("cargo, which has built this program, knows the workspace")
        })
        .join(name)
}

/// Returns the directory where cargo builds, from its metadata.
fn of(metadata: Step) -> Result<PathBuf> {
    let metadata = MetadataCommand::parse(metadata.read()?)?;
    Ok(metadata.target_directory.into())
}

/// Builds by a command of cargo, and returns the path of one program that it builds.
pub(crate) fn program(build: impl Fn() -> Step, name: &str) -> Result<PathBuf> {
    build().run()?;
    // Nothing is built again. The first run shows what it does as all steps do.
    let messages = build()
        .args(["--message-format", "json-render-diagnostics"])
        .read()?;
    executable(&messages, name).with_context(|| format!("cargo built no program `{name}`"))
}

/// Finds the path of a program in cargo's messages.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = Message::parse_stream(messages.as_bytes()).filter_map(Result::ok);
    let mut programs = messages.filter_map(|message| match message {
        Message::CompilerArtifact(artifact) if artifact.target.name == name => artifact.executable,
        _ => None,
    });
    programs.next().map(Into::into)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::published;

    /// A directory that no configuration of a user names.
    fn elsewhere(name: &str) -> PathBuf {
        let name = format!("xtask-target-{name}-{}", std::process::id());
        std::env::temp_dir().join(name)
    }

    #[test]
    fn cargo_says_where_it_builds() {
        let elsewhere = elsewhere("metadata");
        let metadata = Step::cargo(&["metadata", "--no-deps", "--format-version", "1"])
            .env("CARGO_TARGET_DIR", &elsewhere);
        assert_eq!(of(metadata).unwrap(), elsewhere);
        assert!(directory("loom").ends_with("loom"));
    }

    #[test]
    fn a_program_is_found_wherever_cargo_builds_it() {
        let directory = elsewhere("program");
        let (package, target) = (directory.join("package"), directory.join("elsewhere"));
        published::write_package(&package, "").unwrap();
        fs::write(package.join("src/main.rs"), "fn main() {}\n").unwrap();
        let build = || {
            Step::cargo(&["build", "--quiet"])
                .directory(&package)
                .env("CARGO_TARGET_DIR", &target)
        };
        let path = program(build, "scratch").unwrap();
        assert!(path.starts_with(&target) && path.is_file(), "{path:?}");
        let error = program(build, "another").unwrap_err().to_string();
        assert_eq!(error, "cargo built no program `another`");
        fs::remove_dir_all(&directory).unwrap();
    }
}
