//! The lane of systems for which code is only compiled: without an operating system, without
//! threads, or not at hand.

use anyhow::Result;

use super::{CORE_CRATES, DENY_WARNINGS, WITHOUT_WIDE_ATOMICS, checks};
use crate::{command::Step, rustup, target};

/// It has no compare-and-swap; portable-atomic must be told how to make one.
const WITHOUT_CAS: &str = "thumbv6m-none-eabi";

const BARE_METAL: [&str; 6] = [
    WITHOUT_CAS,
    "thumbv8m.main-none-eabihf",
    "riscv32imac-unknown-none-elf",
    "aarch64-unknown-none",
    "riscv64gc-unknown-none-elf",
    "x86_64-unknown-none",
];

/// It has the caller's thread alone.
const WITHOUT_THREADS: &str = "wasm32-unknown-unknown";

const OTHER_SYSTEMS: [&str; 3] = [
    "aarch64-linux-android",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-msvc",
];

pub(super) fn run(_quick: bool) -> Result<u64> {
    rustup::add_component("clippy", &["clippy", "--version"])?;
    for targets in [&BARE_METAL[..], &OTHER_SYSTEMS] {
        rustup::add_targets(targets)?;
    }
    rustup::add_targets(&[WITHOUT_THREADS, WITHOUT_WIDE_ATOMICS])?;
    let without_64_bits = build(WITHOUT_WIDE_ATOMICS, &["-p", "rayon-core"]);
    let without_threads = build(WITHOUT_THREADS, &["-p", "rayon-core"]);
    let steps = BARE_METAL.into_iter().flat_map(bare_metal);
    let steps = steps.chain([without_threads, without_64_bits]);
    let steps = steps.chain(OTHER_SYSTEMS.map(other_system));
    checks(steps.chain(CORE_CRATES.map(with_critical_sections)))
}

fn build(target: &str, arguments: &[&str]) -> Step {
    let flags = if target == WITHOUT_CAS && !arguments.contains(&"critical-section") {
        "-D warnings --cfg portable_atomic_unsafe_assume_single_core"
    } else {
        DENY_WARNINGS
    };
    Step::cargo(&["build", "--target", target])
        .args(arguments)
        .env("RUSTFLAGS", flags)
        .env("CARGO_TARGET_DIR", target::directory("no_std"))
}

/// The core crates without any feature, and those that use an allocator.
fn bare_metal(target: &str) -> Vec<Step> {
    let alone = CORE_CRATES.map(|name| build(target, &["-p", name, "--no-default-features"]));
    let mut steps = Vec::from(alone);
    steps.push(build(target, &["-p", "deque-core", "--features", "alloc"]));
    let features = ["--features", "alloc,deadlock"];
    steps.push(build(
        target,
        &["-p", "pool-core", features[0], features[1]],
    ));
    steps
}

fn with_critical_sections(package: &str) -> Step {
    build(
        WITHOUT_CAS,
        &["-p", package, "--features", "critical-section"],
    )
}

/// What is this system's alone must compile, the tests too, and give no warning. No linker is
/// needed for that.
fn other_system(target: &str) -> Step {
    Step::cargo(&["clippy", "-p", "rayon-core", "--target", target])
        .args(["-p", "pool-std", "--lib", "--profile", "test"])
        .args(["--features", "pool-std/live,pool-std/signal"])
        .env("RUSTFLAGS", DENY_WARNINGS)
        .env("CARGO_TARGET_DIR", target::directory("no_std"))
}
