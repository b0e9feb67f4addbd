//! The lane of Miri, which sees undefined behavior that a test which passes does not show.

use anyhow::Result;

use super::{FREEING_EXAMPLES, WITHOUT_WIDE_ATOMICS};
use crate::{command::Step, rustup, target};

/// Modules of tests of sleep-core that run on one thread, in code that has no `unsafe`. Miri would
/// see in them what any run shows.
const SAFE_ON_ONE_THREAD: [&str; 5] = [
    "policy::",
    "::sequential::",
    "sleepers::",
    "::steps::",
    "testing::",
];

/// Tests of pool-std that Miri skips: of which worker is woken and when. They sleep for long.
const ABOUT_TIME: [&str; 4] = ["inherited::", "wakes::", "many_jobs_may_hold", "_hangs"];

/// Dropping a pool does not wait for its threads, which Miri would call a leak.
const OF_POOLS: &str = "-Zmiri-disable-isolation -Zmiri-ignore-leaks";

/// Runs the tests under Miri. It uses one processor, so several commands run at once, the longest
/// first.
pub(super) fn run(quick: bool) -> Result<u64> {
    rustup::need_nightly(&["miri", "rust-src"])?;
    // Miri builds a standard library when it first needs one. Commands that run at once would
    // build it in the same directory, and fail.
    miri(&["setup"], "").run()?;
    if quick {
        return Step::run_tests_at_once(of_libraries());
    }
    miri(&["setup", "--target", WITHOUT_WIDE_ATOMICS], "").run()?;
    let mut steps = of_pool_std();
    steps.extend(of_libraries());
    steps.extend(of_32_bits());
    let mut tests = Step::run_tests_at_once(steps)?;
    for example in FREEING_EXAMPLES {
        miri(
            &["run", "-p", "progress-core", "--example", example],
            "-Zmiri-strict-provenance -Zmiri-disable-isolation",
        )
        .run()?;
        tests += 1;
    }
    Ok(tests)
}

fn miri(arguments: &[&str], flags: &str) -> Step {
    Step::cargo(&["+nightly", "miri"])
        .args(arguments)
        .env("MIRIFLAGS", flags)
        // A panic that a test expects would take a minute to tell where it comes from.
        .env("RUST_BACKTRACE", "0")
        .env("CARGO_TARGET_DIR", target::directory("miri"))
}

/// The slowest: real threads.
fn of_pool_std() -> Vec<Step> {
    let pool = |tests: &[&str], filters: &[&str]| {
        miri(&["test", "-p", "pool-std"], OF_POOLS)
            .args(tests)
            .args(["--"])
            .args(filters)
    };
    // Jobs that borrow from frames, waits that run a part of the jobs, a worker that is freed,
    // workers that pass from thread to thread, what is deferred until the drop of the pool, a
    // future that borrows from itself, and jobs that no pool takes. In one command: to compare
    // names with filters takes Miri some seconds each time.
    let suite = pool(&["--test", "suite"], &["scope::", "isolation::", "rcu::"])
        .args(["adopted::a_failed_build", "with_the_rest::stress"])
        .args(["progress::the_drop_of_a_pool", "progress::what_is_left"])
        .args(["aborted::a_future_that_borrows", "refused::"])
        .args(["while_their_iterator_has_lent"])
        .args(ABOUT_TIME.map(|name| ["--skip", name]).concat());
    // Jobs that two owners share, and futures.
    let library = pool(&["--lib"], &["handle::", "block_on::"]);
    vec![suite, library]
}

fn library(package: &str, flags: &str) -> Step {
    let flags = format!("-Zmiri-strict-provenance {flags}");
    miri(&["test", "--lib", "-p", package], &flags)
}

fn of_libraries() -> Vec<Step> {
    let filtered = |package, filters: &[&str]| library(package, "").args(["--"]).args(filters);
    let unsafe_or_parallel = SAFE_ON_ONE_THREAD.map(|module| ["--skip", module]).concat();
    vec![
        // What is unsafe in a pool is the same with each protocol.
        filtered("pool-core", &["--skip", "::classic::", "--skip", "::busy"]),
        library("deque-core", ""),
        // The operations that one test leaks are meant to stay.
        library("pool-spin", OF_POOLS),
        library("progress-core", ""),
        filtered("sleep-core", &unsafe_or_parallel),
        library("sleep-primitives", ""),
        // The rest of the crate makes system calls that Miri does not know.
        filtered("pool-io", &["reap_lock"]),
    ]
}

/// 32 bits, no native 64-bit atomics, big-endian.
fn of_32_bits() -> Vec<Step> {
    let narrow = |package| {
        library(package, "-Zmiri-disable-isolation").args(["--target", WITHOUT_WIDE_ATOMICS])
    };
    let filtered = |package, filter| narrow(package).args(["--", filter]);
    vec![
        // The narrow layout of the counters, which nothing but this protocol has.
        filtered("sleep-core", "jec"),
        // The values of progress have 29 bits there.
        narrow("progress-core"),
        // The counters of 64 bits that are made of such atomics.
        filtered("pool-core", "metrics"),
        // A processor that is not multi-copy atomic, where deques are never biased.
        filtered("deque-core", "gate"),
    ]
}
