//! What lanes need of rustup: targets and components, added where they are missing.

use std::sync::Mutex;

use anyhow::{Context, Result};

use crate::command::{Step, lock};

/// Held while rustup changes something: it does not expect that two of it do.
static CHANGES: Mutex<()> = Mutex::new(());

const NEEDED: &str = "this lane needs rustup (https://rustup.rs) to add what is missing";

/// Adds compilation targets to the default toolchain.
pub(crate) fn add_targets(targets: &[&str]) -> Result<()> {
    let _changes = lock(&CHANGES);
    let installed = Step::new("rustup", &["target", "list", "--installed"])
        .read()
        .context(NEEDED)?;
    let missing: Vec<_> = targets
        .iter()
        .filter(|target| !installed.lines().any(|line| line == **target))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Step::new("rustup", &["target", "add"])
        .args(missing)
        .run()
        .context(NEEDED)
}

/// Adds a component to the default toolchain, if the command that needs it does not run.
pub(crate) fn add_component(component: &str, probe: &[&str]) -> Result<()> {
    let _changes = lock(&CHANGES);
    if Step::cargo(probe).succeeds() {
        return Ok(());
    }
    Step::new("rustup", &["component", "add", component])
        .run()
        .context(NEEDED)
}

/// Installs a toolchain, without components, if it is not there.
pub(crate) fn need_toolchain(version: &str) -> Result<()> {
    let _changes = lock(&CHANGES);
    if is_there(version) {
        return Ok(());
    }
    Step::new("rustup", &["toolchain", "install", version])
        .args(["--profile", "minimal", "--no-self-update"])
        .run()
        .context(NEEDED)
}

/// Installs a nightly toolchain if there is none, and adds these components to it.
pub(crate) fn need_nightly(components: &[&str]) -> Result<()> {
    let _changes = lock(&CHANGES);
    if !is_there("nightly") {
        // With the components in the same command, rustup takes the newest nightly that has them.
        return Step::new(
            "rustup",
            &["toolchain", "install", "nightly", "--profile", "minimal"],
        )
        .args(["--no-self-update", "--component", &components.join(",")])
        .run()
        .context(NEEDED);
    }
    Step::new("rustup", &["component", "add", "--toolchain", "nightly"])
        .args(components)
        .run()
        .context(NEEDED)
}

/// Whether a toolchain is installed. Then no network is needed.
fn is_there(toolchain: &str) -> bool {
    Step::new("rustup", &["run", toolchain, "rustc", "--version"]).succeeds()
}
