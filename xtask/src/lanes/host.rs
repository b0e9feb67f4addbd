//! The lane of the machine at hand: all tests of all crates, and again with other ways to sleep,
//! other features, and optimized code.

use anyhow::Result;

use super::{FEATURES_OF_POOL_SPIN, FEATURES_OF_POOL_STD, SCHEDULED, need_make};
use crate::{
    command::Step,
    packages::{NOT_SHIPPED, WITHOUT_EXAMPLES},
    simulate, target,
};

/// What the environment can choose instead of how pools sleep by default.
const WAYS_TO_SLEEP: [(&str, &str); 4] = [
    ("POOL_STD_SLEEP", "sockets"),
    ("POOL_STD_SLEEP", "classic"),
    ("POOL_STD_SLEEP", "hints"),
    ("POOL_STD_OVERLOOK_NO_JOBS", "1"),
];

/// Programs of tests in which workers sleep and are woken, of pool-std and of the drop-ins.
const TESTS_OF_SLEEP: [&str; 3] = ["suite", "deadlock", "for_rayon"];

/// Of these programs, modules that would tell nothing new with another way to sleep, or that choose
/// it themselves. A test of the metrics waits for a worker that is not woken, which another
/// protocol always wakes.
const NOT_OF_SLEEP: [&str; 8] = [
    "build::",
    "current_pool::",
    "environment::",
    "handlers::",
    "jobserver::",
    "metrics::",
    "settings::",
    "_hangs",
];

/// Settings for tests that are optimized. To optimize what they depend on takes longer than all
/// tests; tables of lines, and a last pass over all parts of a program together, take nearly half
/// of the time to build them.
const OPTIMIZE_OURS: [&str; 5] = [
    r#"profile.release.package."*".opt-level=0"#,
    "profile.release.build-override.opt-level=0",
    "profile.release.opt-level=2",
    r#"profile.release.lto="off""#,
    "profile.release.debug=false",
];

/// Programs of tests that are optimized, beside the tests within libraries: those in which threads
/// meet at any moment. The others show what a call returns, and take longest to build.
const OPTIMIZED: [&str; 4] = ["conformance", "histories", "memory", "stress"];

/// Packages that are not tested optimized: programs, which take long to build, and thin layers over
/// what is.
const NOT_OPTIMIZED: [&str; 11] = [
    "xtask",
    "dedup",
    "dedup-cluster",
    "query-engine",
    "word-server",
    "drop-in-tests",
    "pool-std-orx",
    "rayon-names",
    "rayon-core",
    "rustc-rayon-core",
    "crossbeam-deque-adapter",
];

pub(super) fn run(quick: bool) -> Result<u64> {
    need_make()?;
    let everything = || Step::cargo(&["test", "--workspace"]);
    let mut tests = everything()
        .args(["--lib", "--bins", "--tests", "--examples"])
        .run_tests()?;
    // The lane `docs` runs the examples of the other packages.
    let packages = NOT_SHIPPED.into_iter().chain(WITHOUT_EXAMPLES);
    tests += Step::cargo(&["test", "--doc"])
        .args(packages.flat_map(|name| ["--package", name]))
        .run_tests()?;
    for (variable, value) in WAYS_TO_SLEEP {
        tests += everything()
            .args(TESTS_OF_SLEEP.map(|name| ["--test", name]).concat())
            .args(["--"])
            .args(NOT_OF_SLEEP.map(|module| ["--skip", module]).concat())
            .env(variable, value)
            .run_tests()?;
    }
    // The examples of the documentation use an allocator.
    tests += Step::cargo(&["test", "--package", "deque-core", "--no-default-features"])
        .args(["--lib", "--tests"])
        .run_tests()?;
    // What follows jobs, traces, and all else with jobs that something follows and that are traced.
    tests += Step::cargo(&["test"])
        .args(
            ["pool-core", "pool-std", "pool-spin"]
                .map(|name| ["--package", name])
                .concat(),
        )
        .args(["--features", FEATURES_OF_POOL_STD])
        .args(["--features", FEATURES_OF_POOL_SPIN])
        .args(["--lib", "--test", "suite", "--test", "fork"])
        .run_tests()?;
    // The same pools without metrics.
    tests += Step::cargo(&["test", "--package", "pool-std", "--package", "pool-spin"])
        .args(["--no-default-features", "--lib"])
        .run_tests()?;
    // The same pools with workers that never sleep.
    tests += Step::cargo(&["test", "--package", "pool-spin", "--lib"])
        .args(["--features", "host"])
        .env("RUSTFLAGS", "--cfg sleep_busy")
        .env("CARGO_TARGET_DIR", target::directory("busy"))
        .run_tests()?;
    // Pools of virtual workers: that runs can be repeated, and that a lost wake-up is found.
    tests += simulate::step("test")
        .args(["--lib", "--bins"])
        .run_tests()?;
    // Examples that check their own results.
    for (package, example, features) in [
        ("deque-core", "scheduler", ""),
        ("pool-core", "two_threads", ""),
        ("pool-io", "line_counts", ""),
        ("sleep-core", "three_threads", ""),
        ("progress-core", "hash_map", ""),
        ("progress-core", "stack", ""),
        ("pool-spin", "host", "host"),
        ("pool-std", "cancellation", ""),
        ("pool-std", "concurrent_map", ""),
        ("pool-std", "pinning", "pinning"),
    ] {
        Step::cargo(&["run", "--package", package, "--example", example])
            .args(["--features", features])
            .run()?;
        tests += 1;
    }
    if !quick {
        // Optimised code has other timings, and so other interleavings.
        tests += Step::cargo(&["test", "--workspace", "--release", "--lib"])
            .args(OPTIMIZED.map(|name| ["--test", name]).concat())
            .args(NOT_OPTIMIZED.map(|package| ["--exclude", package]).concat())
            .args(OPTIMIZE_OURS.map(|setting| ["--config", setting]).concat())
            .args(SCHEDULED)
            .env("STRESS_CYCLES", "200000")
            .run_tests()?;
    }
    Ok(tests)
}
