//! `cargo xtask api`: what the libraries offer, as lists that are kept beside the code.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, Result, ensure};

use crate::{root, rustup, target, tools::Tool};

/// Lists what a crate offers, from what the nightly rustdoc knows of it.
const CARGO_PUBLIC_API: Tool = Tool {
    package: "cargo-public-api",
    program: "cargo-public-api",
    version: "0.52.0",
    features: "",
};

/// The libraries, with the features that add to what they offer.
const LIBRARIES: [(&str, &[&str]); 8] = [
    ("sleep-primitives", &[]),
    ("sleep-core", &["deadlock", "testing"]),
    ("deque-core", &["std"]),
    ("progress-core", &["alloc"]),
    ("pool-core", &["alloc", "deadlock", "trace"]),
    (
        "pool-std",
        &["live", "metrics-facade", "pinning", "signal", "tracing"],
    ),
    ("pool-io", &[]),
    ("pool-spin", &["deadlock", "host", "trace"]),
];

/// Traits that a compiler implements by itself. Tests ask the types of pool-std that may be used
/// after a panic for theirs; no user asks a type for the others.
const LEFT_OUT: [&str; 5] = [
    " core::marker::Freeze for ",
    " core::marker::UnsafeUnpin for ",
    " core::marker::Unpin for ",
    " core::panic::unwind_safe::RefUnwindSafe for ",
    " core::panic::unwind_safe::UnwindSafe for ",
];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Write the lists anew
    #[arg(long)]
    update: bool,
}

/// Compares what the libraries offer with the lists, or writes these.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.update {
        fs::create_dir_all(kept())?;
        for (library, features) in LIBRARIES {
            fs::write(kept().join(file(library)), list(library, features)?)?;
        }
    } else {
        lane(false)?;
        println!("the libraries offer what their lists say");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the number of libraries that were compared.
pub(crate) fn lane(_quick: bool) -> Result<u64> {
    let mut differences = String::new();
    for (library, features) in LIBRARIES {
        let now = list(library, features)?;
        let kept = fs::read_to_string(kept().join(file(library))).unwrap_or_default();
        let (now, kept): (BTreeSet<_>, BTreeSet<_>) =
            (now.lines().collect(), kept.lines().collect());
        let gone = kept.difference(&now).map(|line| ('-', line));
        let new = now.difference(&kept).map(|line| ('+', line));
        for (sign, line) in gone.chain(new) {
            writeln!(differences, "{library}: {sign}{line}")?;
        }
    }
    ensure!(
        differences.is_empty(),
        "libraries offer something else than their lists say. `cargo xtask api --update` writes the \
         lists anew, and the changelog of the crate should name the change.\n{differences}"
    );
    Ok(LIBRARIES.len() as u64)
}

/// Where the lists are kept.
fn kept() -> PathBuf {
    root().join("xtask/api")
}

fn file(library: &str) -> String {
    format!("{library}.txt")
}

/// Lists what a library offers, without what types have by implementations for all types.
fn list(library: &str, features: &[&str]) -> Result<String> {
    rustup::need_nightly(&["cargo"])?;
    let list = CARGO_PUBLIC_API
        .step(&[
            "--package",
            library,
            "--omit",
            "blanket-impls",
            "--color",
            "never",
        ])?
        .args(["--features", &features.join(",")])
        .env("CARGO_TARGET_DIR", target::directory("api"))
        .read()
        .with_context(|| format!("{library}: does the nightly toolchain suit the tool?"))?;
    let is_left_out = |line: &&str| LEFT_OUT.iter().any(|name| line.contains(name));
    let lines = list.lines().filter(|line| !is_left_out(line));
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}
