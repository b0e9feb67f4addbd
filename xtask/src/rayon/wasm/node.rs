//! Under node, whose workers are the threads of the standard library.

use anyhow::{Result, ensure};

use super::WORKERS;
use crate::{command::Step, debian, root, rustup, speaker::say, target};

/// Has the threads of the standard library.
const TARGET: &str = "wasm32-wasip1-threads";

/// Builds a program for WebAssembly, and runs it under node. Returns the number of its checks.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    rustup::add_targets(&[TARGET])?;
    debian::need("node", "nodejs")?;
    let directory = target::directory("wasm");
    super::write_package(&directory, "node/program.rs", "main.rs", "\"1\"", "")?;
    super::build(&directory, &["build"], TARGET, "-D warnings")?;
    let program = directory.join(format!("target/{TARGET}/release/scratch.wasm"));
    let runner = root().join("compat/tests/wasm/node/node.mjs");
    let mut checks = 0;
    for workers in WORKERS {
        // Older versions have WASI behind this option, and newer ones warn that it may change.
        let node = ["--no-warnings", "--experimental-wasi-unstable-preview1"];
        let passed = Step::new("node", &node)
            .args([&runner, &program])
            .env("RAYON_NUM_THREADS", workers)
            .read()?;
        say!("{workers} workers:\n{passed}");
        checks += passed.lines().count() as u64;
        let has_ended = passed.lines().next_back() == Some("the end of a pool");
        ensure!(has_ended, "the program has not come to its end");
    }
    Ok(checks)
}
