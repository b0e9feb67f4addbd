//! Programs that lanes need and that cargo can build.

use std::sync::Mutex;

use anyhow::{Context as _, Result};

use crate::{
    command::{Step, lock},
    target,
};

/// Held while a program is installed: a second lane would build in the same directory.
static CHANGES: Mutex<()> = Mutex::new(());

/// A published program.
pub(crate) struct Tool {
    /// The crate.
    pub(crate) package: &'static str,
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
    /// All features that it needs, since it is built without those by default.
    pub(crate) features: &'static str,
}

impl Tool {
    /// Returns a step that runs the program. Installs it beside what is built here, if this version
    /// is not there yet.
    pub(crate) fn step(&self, arguments: &[&str]) -> Result<Step> {
        let _changes = lock(&CHANGES);
        let directory = target::directory("tools");
        let program = directory.join("bin").join(self.program);
        let program = program.to_str().context("a path that is text")?;
        let is_there = Step::new(program, &["--version"])
            .read()
            .is_ok_and(|it| it.trim_end().ends_with(self.version));
        if !is_there {
            // Not optimized, which takes a third of the time.
            Step::cargo(&["install", self.package, "--version", self.version])
                .args(["--locked", "--debug", "--no-default-features"])
                .args(["--features", self.features, "--root"])
                .args([&directory])
                .run()?;
        }
        Ok(Step::new(program, arguments))
    }
}
