//! The lane of what is written: formatting, words, and clippy.

use anyhow::Result;

use super::{
    CORE_CRATES, FEATURES, FEATURES_OF_POOL_SPIN, FEATURES_OF_POOL_STD, LOOM, LOOM_FEATURE, checks,
};
use crate::{boards, command::Step, phrases, root, rustup, simulate, target, tools::Tool};

/// Finds misspelled words.
const TYPOS: Tool = Tool {
    package: "typos-cli",
    program: "typos",
    version: "1.42.3",
    features: "dict",
};

/// What measures, each in a workspace of its own.
const BENCHES: [&str; 4] = ["benches", "benches/apps", "benches/apps-ours", "benches/io"];

pub(super) fn run(_quick: bool) -> Result<u64> {
    rustup::add_component("rustfmt", &["fmt", "--version"])?;
    rustup::add_component("clippy", &["clippy", "--version"])?;
    let words = phrases::check(&root())?;
    let mut steps = of_workspace();
    steps.extend(BENCHES.iter().flat_map(|directory| of_benches(directory)));
    // The simulator's flag changes the atomics of all crates below.
    let simulator = ["--manifest-path", "simulator/Cargo.toml"];
    steps.push(formatting().args(simulator));
    steps.push(
        simulate::step("clippy")
            .args(["--all-targets", "--"])
            .args(DENIED),
    );
    steps.extend(boards::lints()?);
    steps.push(TYPOS.step(&["--color", "never"])?);
    Ok(words + checks(steps)?)
}

const DENIED: [&str; 2] = ["-D", "warnings"];

fn clippy(arguments: &[&str]) -> Step {
    Step::cargo(&["clippy"])
        .args(arguments)
        .args(["--"])
        .args(DENIED)
}

fn formatting() -> Step {
    Step::cargo(&["fmt", "--all", "--check"])
}

fn of_workspace() -> Vec<Step> {
    // Not the feature that models have, below, nor the one that only hands on another crate's
    // atomics.
    let features = [FEATURES, FEATURES_OF_POOL_STD, FEATURES_OF_POOL_SPIN].join(",");
    let everything = ["--workspace", "--all-targets", "--features", &features];
    let no_metrics = ["-p", "pool-std", "-p", "pool-spin", "--lib", "--tests"];
    let models = CORE_CRATES.map(|name| ["-p", name]).concat();
    let models = [
        &models[..],
        &["-p", "pool-io", "--lib", "--tests"],
        &LOOM_FEATURE,
    ]
    .concat();
    vec![
        formatting(),
        clippy(&everything),
        clippy(&["-p", "deque-core", "--no-default-features"]),
        clippy(&[&no_metrics[..], &["--no-default-features"]].concat()),
        clippy(&models)
            .env("RUSTFLAGS", LOOM)
            .env("CARGO_TARGET_DIR", target::directory("loom")),
    ]
}

fn of_benches(directory: &str) -> [Step; 2] {
    let manifest = format!("{directory}/Cargo.toml");
    let manifest = ["--manifest-path", &*manifest];
    [
        formatting().args(manifest),
        clippy(&[manifest[0], manifest[1], "--all-targets"])
            .env("CARGO_TARGET_DIR", target::directory("benches")),
    ]
}
