//! The lane of ThreadSanitizer, which sees races that a test which passes does not show.

use anyhow::Result;

use super::{FREEING_EXAMPLES, need_make, need_x86_64_linux};
use crate::{command::Step, rustup, target};

pub(super) fn run(_quick: bool) -> Result<u64> {
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    need_x86_64_linux()?;
    need_make()?;
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
        // An eighth of those that lane `host` runs.
        .env("PROPTEST_CASES", "32")
        // The tool notes the frames of each thread in an array of 65,536, and writes beyond it.
        .args(["--", "--skip", "depth_is_limited_by_the_stack_alone"])
        .run_tests()?;
    Ok(tests)
}
