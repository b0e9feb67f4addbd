//! `cargo xtask demo`: the main job on real input.

use std::{ffi::OsString, process::ExitCode};

use anyhow::Result;

use crate::command::Step;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Read the files through `pool_std::io`, and say by what: rings of the kernel, or helper threads
    #[arg(long)]
    io: bool,

    /// The directory, and options of the program itself (`cargo xtask demo -- --help`)
    /// [default: the sources in the cargo registry, or else this repository]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Builds and runs the program, and ends as it ends.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    // A path is meant relative to where the user is, not to the workspace.
    let here = std::env::current_dir()?;
    let is_io = arguments.io;
    let arguments = arguments.arguments.iter().map(|argument| {
        let path = here.join(argument);
        let is_option = argument.to_string_lossy().starts_with('-');
        if !is_option && path.exists() {
            path.into_os_string()
        } else {
            argument.clone()
        }
    });
    let features: &[&str] = if is_io { &["--features", "io"] } else { &[] };
    let status = Step::cargo(&["run", "--quiet", "--release", "--package", "dedup"])
        .args(features)
        .args(["--"])
        .args(is_io.then_some("--io"))
        .args(arguments)
        .status()?;
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1);
    Ok(ExitCode::from(code))
}
