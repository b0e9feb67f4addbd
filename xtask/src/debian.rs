//! Packages of Debian, for what cargo and rustup do not have.

use std::sync::Mutex;

use anyhow::{Result, bail};

use crate::{
    command::{Step, lock},
    speaker::say,
};

/// Held while a package is installed: a second apt-get would fail, not wait.
static CHANGES: Mutex<()> = Mutex::new(());

/// Sees to it that a program is there: installs its package where that is possible.
pub(crate) fn need(program: &str, package: &str) -> Result<()> {
    need_that(program, &["--version"], package)
}

/// Sees to it that a program is there that does not fail with these arguments.
pub(crate) fn need_that(program: &str, probe: &[&str], package: &str) -> Result<()> {
    let _changes = lock(&CHANGES);
    let is_there = || Step::new(program, probe).succeeds();
    if is_there() {
        return Ok(());
    }
    say!("{program} is missing; trying to install the Debian package {package}");
    let apt_get = |arguments: &[&str]| {
        // A system that updates itself has the lock for a while.
        Step::new("apt-get", &["-o", "DPkg::Lock::Timeout=300"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .run()
    };
    let install = || apt_get(&["install", "--yes", "--no-install-recommends", package]);
    // A fresh system does not know its packages yet, or knows old ones that are gone.
    if install().is_err() {
        let _ = apt_get(&["update"]).and_then(|()| install());
    }
    if !is_there() {
        bail!("this needs {program}; on Debian: apt-get install {package}");
    }
    Ok(())
}
