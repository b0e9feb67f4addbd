//! The lanes of `cargo xtask test-all`.

mod deep;
mod docs;
mod gaps;
mod host;
mod lint;
mod loom;
mod miri;
mod no_std;
mod systems;
mod tsan;

pub(crate) use deep::DEEP_LANES;
pub(crate) use gaps::gaps;
pub(crate) use loom::models;

use anyhow::{Result, ensure};

use crate::{boards, command::Step, crossbeam, debian, rayon};

/// One kind of check. Returns how many tests, or single checks, passed.
pub(crate) struct Lane {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Receives whether to leave out the slow parts.
    pub(crate) run: fn(quick: bool) -> Result<u64>,
}

/// Lanes that keep processors busy and whose tests do not depend on time. They run beside the
/// others, on what these leave of the processors. None builds in the directory of a lane that runs
/// at the same time, which would wait there for one that has a lower priority: `lint` shares that
/// of `loom`, and comes first.
pub(crate) const BACKGROUND_LANES: &[Lane] = &[
    Lane {
        name: "miri",
        about: "the core crates' tests under Miri",
        run: miri::run,
    },
    Lane {
        name: "loom",
        about: "the core crates' models",
        run: loom::run,
    },
];

/// The longest first, so that the last one does not run alone; but neighbors do not build in the
/// same directory, where one would wait for the other.
pub(crate) const LANES: &[Lane] = &[
    Lane {
        name: "lint",
        about: "formatting, spelling, plain phrases, and clippy without a warning",
        run: lint::run,
    },
    Lane {
        name: "host",
        about: "all tests of all crates on this machine",
        run: host::run,
    },
    Lane {
        name: "rayon",
        about: "the test suites of rayon and rustc-rayon on our pool, ours on the originals",
        run: rayon::lane,
    },
    Lane {
        name: "tsan",
        about: "thread progress, deques and pools under ThreadSanitizer",
        run: tsan::run,
    },
    Lane {
        name: "qemu-riscv",
        about: "pool-spin on four harts, in machine and supervisor mode",
        run: boards::riscv,
    },
    Lane {
        name: "i686",
        about: "the tests of the pool, the drop-in and the core crates on 32 bits",
        run: systems::i686,
    },
    Lane {
        name: "qemu-aarch64",
        about: "pool-spin on four cores that sleep by WFI and WFE",
        run: boards::aarch64,
    },
    Lane {
        name: "no_std",
        about: "the core crates for bare-metal targets, the drop-in for wasm and without wide atomics",
        run: no_std::run,
    },
    Lane {
        name: "qemu-user",
        about: "pool-std's tests on 64-bit Arm",
        run: systems::qemu_user,
    },
    Lane {
        name: "windows",
        about: "the tests of the pool as programs for Windows, on Wine",
        run: systems::windows,
    },
    Lane {
        name: "qemu-cortex-m",
        about: "pool-spin on two Cortex-M33, and on a Cortex-M0",
        run: boards::cortex_m,
    },
    Lane {
        name: "wasm",
        about: "the pool, and rayon on it, in threads of WebAssembly under node",
        run: rayon::wasm,
    },
    Lane {
        name: "crossbeam",
        about: "crossbeam-deque's own test suite on deque-core",
        run: crossbeam::lane,
    },
    Lane {
        name: "qemu-x86_64",
        about: "pool-spin on four x86 cores that sleep by HLT",
        run: boards::x86_64,
    },
    Lane {
        name: "docs",
        about: "rustdoc without a warning, examples, links and figures of all pages, packages that \
                stand alone",
        run: docs::run,
    },
];

/// The crates that must run without an operating system.
const CORE_CRATES: [&str; 6] = [
    "sleep-primitives",
    "sleep-core",
    "progress-core",
    "deque-core",
    "pool-core",
    "pool-spin",
];

/// A big-endian system of 32 bits with threads and without 64-bit atomics.
const WITHOUT_WIDE_ATOMICS: &str = "powerpc-unknown-linux-gnu";

/// Leaves out the tests of sleep-core's kit for protocols. They choose each interleaving
/// themselves, so another processor and optimized code show nothing new in them.
const SCHEDULED: [&str; 3] = ["--", "--skip", "testing::tests::"];

/// Examples of progress-core whose nodes are freed while others read. They check their own results.
const FREEING_EXAMPLES: [&str; 2] = ["hash_map", "stack"];

const DENY_WARNINGS: &str = "-D warnings";
/// What makes a model: the compiler flag, and the feature that brings the crate.
const LOOM: &str = "--cfg loom";
const LOOM_FEATURE: [&str; 2] = ["--features", "loom"];

/// Features that add code of ours, beside those of the pools.
pub(crate) const FEATURES: &str = "dedup/io,pool-spin/host,pool-spin/deadlock";
/// Features of the pools, with which their tests run once more.
pub(crate) const FEATURES_OF_POOL_STD: &str =
    "pool-std/tracing,pool-std/metrics-facade,pool-std/pinning,pool-std/live,pool-std/signal";
const FEATURES_OF_POOL_SPIN: &str = "pool-spin/trace";

/// Runs each step; a step counts as one check.
fn checks(steps: impl IntoIterator<Item = Step>) -> Result<u64> {
    let mut count = 0;
    for step in steps {
        step.run()?;
        count += 1;
    }
    Ok(count)
}

/// For the test of pool-std that shares the tokens of GNU make. Windows and macOS have no such
/// packages.
fn need_make() -> Result<()> {
    if cfg!(target_os = "linux") {
        debian::need("make", "make")?;
    }
    Ok(())
}

fn need_x86_64_linux() -> Result<()> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "this lane needs Linux on x86-64; on another system leave it out with --only"
    );
    Ok(())
}
