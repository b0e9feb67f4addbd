//! Packages of Debian, for what cargo and rustup do not have.

use anyhow::{Result, bail};

use crate::command::Step;

/// Sees to it that a program is there: installs its package where that is possible.
pub(crate) fn need(program: &str, package: &str) -> Result<()> {
    let is_there = || Step::new(program, &["--version"]).succeeds();
    if is_there() {
        return Ok(());
    }
    println!("{program} is missing; trying to install the Debian package {package}");
    let install = Step::new("apt-get", &["install", "--yes", "--no-install-recommends"])
        .args([package])
        .env("DEBIAN_FRONTEND", "noninteractive");
    if install.run().is_err() || !is_there() {
        bail!("this needs {program}; on Debian: apt-get install {package}");
    }
    Ok(())
}
