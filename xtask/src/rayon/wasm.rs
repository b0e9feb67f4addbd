//! Our pool, and rayon on it, in the threads of WebAssembly.

mod browser;
mod node;

use std::{fs, path::Path};

use anyhow::Result;

use super::RAYON;
use crate::{command::Step, published, root};

pub(crate) use browser::lane as browser;
pub(crate) use node::lane as node;

/// How many workers the global pool has.
const WORKERS: [&str; 3] = ["1", "2", "4"];

/// Writes a package in a directory: a program, which becomes this file of it, and the checks that
/// all programs share. `rayon` is what its manifest says of rayon; more lines may follow.
fn write_package(
    directory: &Path,
    program: &str,
    file: &str,
    rayon: &str,
    rest: &str,
) -> Result<()> {
    let pool = root().join("pool-std");
    let lines = format!(
        "[dependencies]\nrayon = {rayon}\npool-std = {{ path = '{}' }}\n{rest}",
        pool.display()
    );
    published::write_package(directory, &lines)?;
    let sources = root().join("compat/tests/wasm");
    fs::copy(sources.join(program), directory.join("src").join(file))?;
    fs::copy(sources.join("checks.rs"), directory.join("src/checks.rs"))?;
    RAYON.assert_ours(&directory.join("Cargo.toml"))
}

/// Builds a package that [`write_package`] has written. `cargo` begins with what comes before
/// `build`.
fn build(directory: &Path, cargo: &[&str], target: &str, flags: &str) -> Result<()> {
    Step::cargo(cargo)
        .args(["--release", "--target", target])
        .args(RAYON.patch())
        .directory(directory)
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .run()
}
