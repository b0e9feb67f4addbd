//! What takes too long for each change: `cargo xtask test-all --deep`.

use anyhow::Result;

use super::{Lane, need_x86_64_linux};
use crate::{api, command::Step, dependencies, mutants, rayon, root, rustup, target};

pub(crate) const DEEP_LANES: &[Lane] = &[
    Lane {
        name: "mutants",
        about: "each fence and ordering of the core crates is left out, and a test fails",
        run: mutants::lane,
    },
    Lane {
        name: "models",
        about: "the pool as a model, with ten million states, and as many transitions of pools",
        run: models,
    },
    Lane {
        name: "asan",
        about: "pool-std and the drop-in under AddressSanitizer",
        run: address_sanitizer,
    },
    Lane {
        name: "fuzz",
        about: "random sequences of calls, a hundred times as many, under AddressSanitizer",
        run: fuzz,
    },
    Lane {
        name: "msrv",
        about: "everything with the oldest compiler that is supported",
        run: oldest_compiler,
    },
    Lane {
        name: "deps",
        about: "licenses and sources of dependencies, and their oldest versions that are allowed",
        run: dependencies::lane,
    },
    Lane {
        name: "api",
        about: "what the libraries offer, against the lists that are kept of it",
        run: api::lane,
    },
    Lane {
        name: "embassy",
        about: "pool-spin beside embassy's executor, compiled for a chip that QEMU does not have",
        run: embassy,
    },
    Lane {
        name: "browser",
        about: "rayon on our pool in a browser, also in its main thread, which must not wait",
        run: rayon::browser,
    },
];

fn models(_quick: bool) -> Result<u64> {
    let models = Step::cargo(&["test", "--package", "proofs", "--release"])
        .env("PROOFS_DEEP", "1")
        // One after the other, since each takes gigabytes.
        .args(["--", "--test-threads", "1"])
        .run_tests()?;
    let traces = Step::cargo(&[
        "test",
        "--package",
        "pool-std",
        "--release",
        "--test",
        "suite",
    ])
    .args(["--features", "trace", "--", "trace::loads"])
    .env("POOL_STD_TRANSITIONS", "10000000")
    .run_tests()?;
    Ok(models + traces)
}

fn oldest_compiler(_quick: bool) -> Result<u64> {
    // That of this package, which has it from the workspace as all others do.
    const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");
    let toolchain = format!("+{OLDEST}");
    rustup::need_toolchain(OLDEST)?;
    Step::cargo(&[&toolchain, "check", "--workspace", "--all-targets"])
        .args(["--features", super::FEATURES])
        .args(["--features", super::FEATURES_OF_POOL_STD])
        .args(["--features", super::FEATURES_OF_POOL_SPIN])
        .env("CARGO_TARGET_DIR", target::directory("msrv"))
        .run()?;
    Ok(1)
}

fn address_sanitizer(_quick: bool) -> Result<u64> {
    super::need_make()?;
    under_address_sanitizer(&["pool-std", "rayon-core", "drop-in-tests", "deque-core"])?
        .args(["--lib", "--tests", "--no-fail-fast"])
        .args(["--features", super::FEATURES_OF_POOL_STD])
        // It measures frames.
        .args(["--", "--skip", "depth_is_limited_by_the_stack_alone"])
        .run_tests()
}

/// The packages with tests of random input that do not only use safe code of one thread.
const FUZZED: [&str; 4] = ["deque-core", "progress-core", "sleep-core", "pool-std"];

/// What the names of these tests begin with, see `tests_of_random_input_have_such_names`.
const OF_RANDOM_INPUT: &str = "::any_";

fn fuzz(_quick: bool) -> Result<u64> {
    under_address_sanitizer(&FUZZED)?
        .args(["--lib", "--test", "suite", "--no-fail-fast", "--"])
        .args([OF_RANDOM_INPUT])
        .env("PROPTEST_CASES", "25600")
        .run_tests()
}

/// Returns a step that builds the tests of some packages with AddressSanitizer.
fn under_address_sanitizer(packages: &[&str]) -> Result<Step> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    need_x86_64_linux()?;
    rustup::need_nightly(&["rust-src"])?;
    Ok(Step::cargo(&["+nightly", "test", "--target", TARGET])
        .args(packages.iter().flat_map(|name| ["--package", name]))
        .env("RUSTFLAGS", "-Zsanitizer=address")
        // The global pool and its threads are never freed. And a pool asks how much of a stack is
        // left, which it could not if the values of frames were elsewhere.
        .env(
            "ASAN_OPTIONS",
            "detect_leaks=0:detect_stack_use_after_return=0",
        )
        // Frames that are not optimized are so large that few fit on a stack.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_TARGET_DIR", target::directory("asan")))
}

fn embassy(_quick: bool) -> Result<u64> {
    const RP2350: &str = "thumbv8m.main-none-eabihf";
    rustup::add_targets(&[RP2350])?;
    rustup::add_component("rustfmt", &["fmt", "--version"])?;
    rustup::add_component("clippy", &["clippy", "--version"])?;
    let board = |arguments: &[&str]| {
        Step::cargo(arguments)
            .directory(&root().join("pool-spin/boards/rp2350-embassy"))
            .env("CARGO_TARGET_DIR", target::directory("embassy"))
    };
    board(&["fmt", "--check"]).run()?;
    board(&["clippy", "--release", "--locked", "--", "-D", "warnings"]).run()?;
    // Only the linker sees whether the memory of the chip suffices.
    board(&["build", "--release", "--locked"]).run()?;
    Ok(3)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use crate::links::find_files;

    /// Returns the names of the tests of random input in a source file.
    fn tests_of_random_input(text: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some(indent) = line.strip_suffix("proptest! {") else {
                continue;
            };
            let end = format!("{indent}}}");
            let block = lines.by_ref().take_while(|line| *line != end);
            let functions = block.filter_map(|line| line.trim_start().strip_prefix("fn "));
            let name = |line: &str| line.split('(').next().map(str::to_owned);
            names.extend(functions.filter_map(name));
        }
        names
    }

    /// Or lane `fuzz` would not run them.
    #[test]
    fn tests_of_random_input_have_such_names() {
        for package in FUZZED {
            let mut found = BTreeSet::new();
            for path in find_files(&root().join(package), ".rs").unwrap() {
                found.extend(tests_of_random_input(&fs::read_to_string(path).unwrap()));
            }
            assert!(!found.is_empty(), "{package}");
            let is_run = |name: &&String| format!("::{name}").starts_with(OF_RANDOM_INPUT);
            let others: Vec<_> = found.iter().filter(|name| !is_run(name)).collect();
            assert!(others.is_empty(), "{package}: {others:?}");
        }
    }
}
