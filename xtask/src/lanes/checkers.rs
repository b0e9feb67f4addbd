//! The lanes whose tools see what a test that passes does not show: Miri, ThreadSanitizer, loom.

use anyhow::Result;

use super::{CORE_CRATES, LOOM, LOOM_FEATURE, WITHOUT_WIDE_ATOMICS, need_x86_64_linux};
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

/// Examples of progress-core whose nodes are freed while others read. They check their own results.
const FREEING_EXAMPLES: [&str; 2] = ["hash_map", "stack"];

/// Runs the tests under Miri. It uses one processor, so several commands run at once, the longest
/// first.
pub(super) fn miri(quick: bool) -> Result<u64> {
    rustup::need_nightly(&["miri", "rust-src"])?;
    let miri = |arguments: &[&str], flags: &str| {
        Step::cargo(&["+nightly", "miri"])
            .args(arguments)
            .env("MIRIFLAGS", flags)
            // A panic that a test expects would take a minute to tell where it comes from.
            .env("RUST_BACKTRACE", "0")
            .env("CARGO_TARGET_DIR", target::directory("miri"))
    };
    // Miri builds a standard library when it first needs one. Commands that run at once would
    // build it in the same directory, and fail.
    miri(&["setup"], "").run()?;
    if !quick {
        miri(&["setup", "--target", WITHOUT_WIDE_ATOMICS], "").run()?;
    }
    let library = |arguments: &[&str], flags: &str| {
        miri(
            &["test", "--lib"],
            &format!("-Zmiri-strict-provenance {flags}"),
        )
        .args(arguments)
    };
    let pool = |tests: &[&str], filters: &[&str]| {
        // Dropping a pool does not wait for its threads, which Miri would call a leak.
        miri(
            &["test", "-p", "pool-std"],
            "-Zmiri-disable-isolation -Zmiri-ignore-leaks",
        )
        .args(tests)
        .args(["--"])
        .args(filters)
    };
    let mut steps = Vec::new();
    if !quick {
        // Jobs that borrow from frames, on real threads, waits that run a part of the jobs, a
        // worker that is freed, workers that pass from thread to thread, what is deferred until the
        // drop of the pool, a future that borrows from itself, and jobs that no pool takes. In one
        // command: to compare names with filters takes Miri some seconds each time.
        steps.push(
            pool(&["--test", "suite"], &["scope::", "isolation::", "rcu::"])
                .args(["adopted::a_failed_build", "with_the_rest::stress"])
                .args(["progress::the_drop_of_a_pool", "progress::what_is_left"])
                .args(["aborted::a_future_that_borrows", "refused::"])
                .args(ABOUT_TIME.map(|name| ["--skip", name]).concat()),
        );
        // Jobs that two owners share, and futures.
        steps.push(pool(&["--lib"], &["handle::", "block_on::"]));
    }
    steps.extend([
        // What is unsafe in a pool is the same with each protocol.
        library(&["-p", "pool-core"], "").args(["--", "--skip", "::classic::", "--skip", "::busy"]),
        library(&["-p", "deque-core"], ""),
        // The operations that one test leaks are meant to stay.
        library(
            &["-p", "pool-spin"],
            "-Zmiri-disable-isolation -Zmiri-ignore-leaks",
        ),
        library(&["-p", "progress-core"], ""),
        library(&["-p", "sleep-core"], "")
            .args(["--"])
            .args(SAFE_ON_ONE_THREAD.map(|module| ["--skip", module]).concat()),
        library(&["-p", "sleep-primitives"], ""),
        // The rest of the crate makes system calls that Miri does not know.
        library(&["-p", "pool-io", "reap_lock"], ""),
    ]);
    if !quick {
        let narrow = |arguments: &[&str]| {
            library(arguments, "-Zmiri-disable-isolation").args(["--target", WITHOUT_WIDE_ATOMICS])
        };
        // 32 bits, no native 64-bit atomics, big-endian: the narrow layout of the counters, which
        // nothing but this protocol has.
        steps.push(narrow(&["-p", "sleep-core", "jec"]));
        // The values of progress have 29 bits there.
        steps.push(narrow(&["-p", "progress-core"]));
        // The counters of 64 bits that are made of such atomics.
        steps.push(narrow(&["-p", "pool-core", "metrics"]));
        // A processor that is not multi-copy atomic, where deques are never biased.
        steps.push(narrow(&["-p", "deque-core", "gate"]));
    }
    let mut tests = Step::run_tests_at_once(steps)?;
    if !quick {
        for example in FREEING_EXAMPLES {
            miri(
                &["run", "-p", "progress-core", "--example", example],
                "-Zmiri-strict-provenance -Zmiri-disable-isolation",
            )
            .run()?;
            tests += 1;
        }
    }
    Ok(tests)
}

pub(super) fn thread_sanitizer(_quick: bool) -> Result<u64> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    need_x86_64_linux()?;
    rustup::need_nightly(&["rust-src"])?;
    let sanitized = |command: &str, arguments: &[&str]| {
        // The standard library too, or its atomics are not seen.
        Step::cargo(&["+nightly", command, "-Zbuild-std", "--target", TARGET])
            .args(arguments)
            .env("RUSTFLAGS", "-Zsanitizer=thread")
            // Its reports name lines.
            .env("CARGO_PROFILE_DEV_DEBUG", "line-tables-only")
            // A panic that a test expects would take a minute to tell where it comes from.
            .env("RUST_BACKTRACE", "0")
            // Dropping a pool does not wait for its threads. Races are reported all the same.
            .env("TSAN_OPTIONS", "report_thread_leaks=0")
            // Each step of a stampede takes fifty times as long.
            .env("DEQUE_CORE_ELEMENTS", "few")
            .env("CARGO_TARGET_DIR", target::directory("tsan"))
    };
    let mut tests = 0;
    for example in FREEING_EXAMPLES {
        sanitized("run", &["-p", "progress-core", "--example", example]).run()?;
        tests += 1;
    }
    // What several threads do. The system's process fences are unknown to the tool, and it needs
    // not know them: a biased deque, too, hands its elements over by acquire and release. In one
    // command, which builds nothing twice: the features of these crates depend on each other.
    tests += sanitized("test", &["--lib"])
        .args(["-p", "progress-core", "-p", "deque-core", "-p", "pool-core"])
        .args(["--", "threads", "stampede", "metrics"])
        .run_tests()?;
    tests += sanitized("test", &["--lib", "--test", "stress", "-p", "pool-std"]).run_tests()?;
    tests += sanitized("test", &["--test", "suite", "-p", "pool-std"])
        .args(["--"])
        .args(NOT_OF_RACES.map(|name| ["--skip", name]).concat())
        .run_tests()?;
    Ok(tests)
}

/// Tests of pool-std's suite that ThreadSanitizer skips.
const NOT_OF_RACES: [&str; 8] = [
    // The tool notes the frames of each thread in an array of 65,536, and writes beyond it.
    "depth_is_limited_by_the_stack_alone",
    // One worker runs at a time.
    "explore::",
    "settings::any_program",
    // Processes of their own, which this one waits for.
    "environment::",
    "_hangs",
    // They measure time, or run random programs, for too long.
    "crowd::",
    "jobserver::",
    "scenarios::",
];

/// Of what models depend on, only these need be fast. To optimize the others takes longer than the
/// models take less, and so do tables of lines and a last pass over all parts of a program
/// together.
const FAST_DEPENDENCIES: [&str; 6] = [
    r#"profile.release.lto="off""#,
    "profile.release.debug=false",
    r#"profile.release.package."*".opt-level=0"#,
    "profile.release.package.loom.opt-level=3",
    "profile.release.package.generator.opt-level=3",
    "profile.release.build-override.opt-level=0",
];

/// Makes a step that tests run models.
pub(crate) fn models(test: Step) -> Step {
    test.args(["--release"])
        .args(LOOM_FEATURE)
        .args(
            FAST_DEPENDENCIES
                .map(|setting| ["--config", setting])
                .concat(),
        )
        .env("RUSTFLAGS", LOOM)
        // Each model checks the debug assertions as well.
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_TARGET_DIR", target::directory("loom"))
}

pub(super) fn loom(_quick: bool) -> Result<u64> {
    let of_crate = |name| models(Step::cargo(&["test", "--lib", "-p", name]));
    // The last model of a crate leaves a processor to the next crate. Crates have other features
    // alone than all together, so to build all at once first would build most of them twice.
    let crates = CORE_CRATES.into_iter().chain(["pool-io"]);
    Step::run_tests_at_once(crates.map(of_crate).collect())
}
