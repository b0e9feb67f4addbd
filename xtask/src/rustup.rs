//! What lanes need of rustup: targets and components, added where they are missing.

use anyhow::{Context, Result, bail};

use crate::command::Step;

const NEEDED: &str = "this lane needs rustup (https://rustup.rs) to add what is missing";

/// Adds compilation targets to the default toolchain.
pub(crate) fn add_targets(targets: &[&str]) -> Result<()> {
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
    if Step::cargo(probe).succeeds() {
        return Ok(());
    }
    Step::new("rustup", &["component", "add", component])
        .run()
        .context(NEEDED)
}

/// Sees to it that there is a nightly toolchain with these components.
pub(crate) fn need_nightly(components: &[&str]) -> Result<()> {
    if !Step::new("rustup", &["run", "nightly", "rustc", "--version"]).succeeds() {
        bail!("this lane needs a nightly toolchain: rustup toolchain install nightly");
    }
    Step::new("rustup", &["component", "add", "--toolchain", "nightly"])
        .args(components)
        .run()
        .context(NEEDED)
}
