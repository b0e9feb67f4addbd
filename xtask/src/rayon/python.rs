//! A library that uses rayon, in a program of Python that forks: it works on our pool, and waits
//! for good on the original.

use std::{
    env::consts,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Result, ensure};

use super::RAYON;
use crate::{command::Step, debian, published, root, target};

/// Ends a program that hangs in the parent. It waits for its children for less.
const LIMIT: Duration = Duration::from_secs(600);

/// What the program returns when a child does not answer.
const NO_ANSWER: i32 = 3;

/// Returns the number of checks.
pub(super) fn check() -> Result<u64> {
    // The smallest package of it has no such modules.
    let probe = ["-c", "import ctypes, multiprocessing"];
    debian::need_that("python3", &probe, "python3")?;
    let patch = RAYON.patch();
    let ours = build("python-ours", &patch)?;
    RAYON.assert_ours(&ours.join("Cargo.toml"))?;
    let original = build("python-original", &[])?;
    let program = root().join("compat/tests/python/fork.py");
    // Children of the original wait for good.
    let run = |directory: &Path, limit_in_seconds: &str| {
        let name = format!("{}scratch{}", consts::DLL_PREFIX, consts::DLL_SUFFIX);
        let library = directory.join("target/release").join(name);
        let step = Step::new("python3", &[]).args([&program, &library]);
        let step = step.args([limit_in_seconds]);
        step.env("RAYON_NUM_THREADS", "4").status_within(LIMIT)
    };
    let status = run(&ours, "120")?;
    ensure!(status.success(), "children of a fork fail: {status}");
    let status = run(&original, "10")?;
    ensure!(
        status.code() == Some(NO_ANSWER),
        "children of a fork do not wait for good on the original: {status}"
    );
    Ok(2)
}

/// Builds the library, and returns the directory of its package.
fn build(name: &str, patch: &[String]) -> Result<PathBuf> {
    let directory = target::directory("rayon").join(name);
    let lines = "[lib]\ncrate-type = [\"cdylib\"]\n\n[dependencies]\nrayon = \"1\"\n";
    published::write_package(&directory, lines)?;
    let source = root().join("compat/tests/python/library.rs");
    fs::copy(source, directory.join("src/lib.rs"))?;
    Step::cargo(&["build", "--release"])
        .args(patch)
        .directory(&directory)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .run()?;
    Ok(directory)
}
