//! `cargo xtask demo`: the main job on real input.

mod plot;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Result;

use crate::{beside::beside, command::Step, root, target};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Start so many processes on this machine, which exchange digests; each hashes its share of
    /// the files on a pool of its own
    #[arg(long, short = 'n', value_name = "NUMBER", conflicts_with = "io")]
    processes: Option<u16>,

    /// Draw as a chart what each process did. The figures are beside it, with the extension `json`
    #[arg(long, value_name = "FILE", requires = "processes")]
    svg: Option<PathBuf>,

    /// Read the files through `pool_io`, and say by what: rings of the kernel, or helper threads
    #[arg(long)]
    io: bool,

    /// The directory, and options of the program itself (`cargo xtask demo -- --help`, or with
    /// several processes `cargo xtask demo --processes 2 -- --help`) [default: the sources in the
    /// cargo registry, or else the current directory]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Builds and runs the program, and ends as it ends.
pub(crate) fn run(chosen: &Arguments) -> Result<ExitCode> {
    let here = std::env::current_dir()?;
    let report = chosen
        .svg
        .as_ref()
        .map(|chart| beside(&here.join(chart), "json"))
        .transpose()?;
    let status = step(chosen, &here, report.as_deref()).status()?;
    if let (Some(report), Some(chart), true) = (report, &chosen.svg, status.success()) {
        plot::draw(&report, &here.join(chart))?;
    }
    let code = status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1);
    Ok(ExitCode::from(code))
}

/// Returns a step that builds the program and runs it where the user is, so that paths are relative
/// to there.
fn step(chosen: &Arguments, here: &Path, report: Option<&Path>) -> Step {
    let is_io = chosen.io;
    let features: &[&str] = if is_io { &["--features", "io"] } else { &[] };
    let package = match chosen.processes {
        Some(_) => "dedup-cluster",
        None => "dedup",
    };
    let processes = chosen.processes.map(|count| count.to_string());
    let processes = processes.map(|count| ["--processes".to_owned(), count]);
    // The first build takes a minute or more, so cargo shows what it does.
    let program = format!("{package}{}", std::env::consts::EXE_SUFFIX);
    let is_built = target::directory("release").join(program).exists();
    Step::cargo(&["run", "--release", "--manifest-path"])
        .args([root().join("Cargo.toml")])
        .args(is_built.then_some("--quiet"))
        .args(["--package", package])
        .args(features)
        .args(["--"])
        .args(is_io.then_some("--io"))
        .args(processes.into_iter().flatten())
        .args(
            report
                .iter()
                .flat_map(|report| ["--report".as_ref(), report.as_os_str()]),
        )
        .args(&chosen.arguments)
        .directory(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproduces a bug: a directory that was missing where the user was, and not in the workspace,
    /// was that of the workspace.
    #[test]
    fn paths_are_relative_to_the_user() {
        let arguments = Arguments {
            processes: None,
            svg: None,
            io: false,
            arguments: vec!["docs".into()],
        };
        let here = root().join("xtask");
        let step = step(&arguments, &here, None);
        assert_eq!(step.current_directory(), Some(&*here));
        assert!(step.shown().ends_with("--package dedup -- docs"));
    }
}
