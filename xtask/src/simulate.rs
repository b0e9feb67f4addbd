//! `cargo xtask simulate`: the pool on virtual workers.

use std::{ffi::OsString, process::ExitCode};

use anyhow::Result;

use crate::{command::Step, target};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Options of the program itself (`cargo xtask simulate -- --help`)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Returns a step that builds the simulator, in a directory of its own: its flag changes the
/// atomics of all crates below.
pub(crate) fn step(command: &str) -> Step {
    Step::cargo(&[command, "--manifest-path", "simulator/Cargo.toml"])
        .env("RUSTFLAGS", "--cfg simulate")
        .env("CARGO_TARGET_DIR", target::directory("simulate"))
}

/// Builds and runs the simulator, and ends as it ends. Its files are relative to where the user is.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let build = || step("build").args(["--quiet", "--release"]);
    let program = target::program(build, "simulator")?;
    let here = std::env::current_dir()?;
    let status = Step::new(&program.to_string_lossy(), &[])
        .args(&arguments.arguments)
        .directory(&here)
        .status()?;
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1);
    Ok(ExitCode::from(code))
}
