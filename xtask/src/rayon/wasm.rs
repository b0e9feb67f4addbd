//! Our pool, and rayon on it, in the threads of WebAssembly.

use std::fs;

use anyhow::{Result, ensure};

use super::RAYON;
use crate::{command::Step, debian, published, root, rustup, speaker::say, target};

/// Has the threads of the standard library, as workers of node. In a browser, programs have those
/// of `wasm-bindgen-rayon`, which takes a standard library of its own.
const TARGET: &str = "wasm32-wasip1-threads";

/// How many workers the global pool has.
const WORKERS: [&str; 3] = ["1", "2", "4"];

/// Builds a program for WebAssembly, and runs it under node. Returns the number of its checks.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    rustup::add_targets(&[TARGET])?;
    debian::need("node", "nodejs")?;
    let sources = root().join("compat/tests/wasm");
    let directory = target::directory("wasm");
    let pool = root().join("pool-std");
    let lines = format!(
        "[dependencies]\nrayon = \"1\"\npool-std = {{ path = '{}' }}\n",
        pool.display()
    );
    published::write_package(&directory, &lines)?;
    fs::copy(sources.join("program.rs"), directory.join("src/main.rs"))?;
    RAYON.assert_ours(&directory.join("Cargo.toml"))?;
    Step::cargo(&["build", "--release", "--target", TARGET])
        .args(RAYON.patch())
        .directory(&directory)
        .env("RUSTFLAGS", "-D warnings")
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .run()?;
    let program = directory.join(format!("target/{TARGET}/release/scratch.wasm"));
    let mut checks = 0;
    for workers in WORKERS {
        // Older versions have WASI behind this option, and newer ones warn that it may change.
        let node = ["--no-warnings", "--experimental-wasi-unstable-preview1"];
        let passed = Step::new("node", &node)
            .args([sources.join("node.mjs"), program.clone()])
            .env("RAYON_NUM_THREADS", workers)
            .read()?;
        say!("{workers} workers:\n{passed}");
        checks += passed.lines().count() as u64;
        let has_ended = passed.lines().next_back() == Some("the end of a pool");
        ensure!(has_ended, "the program has not come to its end");
    }
    Ok(checks)
}
