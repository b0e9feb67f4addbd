//! The lanes of `cargo xtask test-all`.

mod checkers;
mod deep;
mod gaps;
mod host;
mod systems;

pub(crate) use checkers::models;
pub(crate) use deep::DEEP_LANES;
pub(crate) use gaps::gaps;

use std::fs;

use anyhow::{Result, ensure};

use crate::{
    boards, book, command::Step, comments, crossbeam, debian, decisions, figures, links, mutants,
    packages, phrases, rayon, root, rustup, scenarios, simulate, target, tools::Tool,
};

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
        run: checkers::miri,
    },
    Lane {
        name: "loom",
        about: "the core crates' models",
        run: checkers::loom,
    },
];

/// The longest first, so that the last one does not run alone; but neighbors do not build in the
/// same directory, where one would wait for the other.
pub(crate) const LANES: &[Lane] = &[
    Lane {
        name: "lint",
        about: "formatting, spelling, plain phrases, and clippy without a warning",
        run: lint,
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
        run: checkers::thread_sanitizer,
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
        run: no_std,
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
        run: docs,
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

const DENY_WARNINGS: &str = "-D warnings";
/// What makes a model: the compiler flag, and the feature that brings the crate.
const LOOM: &str = "--cfg loom";
const LOOM_FEATURE: [&str; 2] = ["--features", "loom"];

/// Runs each step; a step counts as one check.
fn checks(steps: impl IntoIterator<Item = Step>) -> Result<u64> {
    let mut count = 0;
    for step in steps {
        step.run()?;
        count += 1;
    }
    Ok(count)
}

/// Features that add code of ours, beside those of the pools.
pub(crate) const FEATURES: &str = "dedup/io,pool-spin/host,pool-spin/deadlock";
/// Features of the pools, with which their tests run once more.
pub(crate) const FEATURES_OF_POOL_STD: &str =
    "pool-std/tracing,pool-std/metrics-facade,pool-std/pinning,pool-std/live,pool-std/signal";
const FEATURES_OF_POOL_SPIN: &str = "pool-spin/trace";

/// Finds misspelled words.
const TYPOS: Tool = Tool {
    package: "typos-cli",
    program: "typos",
    version: "1.42.3",
    features: "dict",
};

fn lint(_quick: bool) -> Result<u64> {
    rustup::add_component("rustfmt", &["fmt", "--version"])?;
    rustup::add_component("clippy", &["clippy", "--version"])?;
    let clippy = |arguments: &[&str]| {
        Step::cargo(&["clippy"])
            .args(arguments)
            .args(["--", "-D", "warnings"])
    };
    let mut steps = vec![
        Step::cargo(&["fmt", "--all", "--check"]),
        // Not the feature that models have, below, nor the one that only hands on another crate's
        // atomics.
        clippy(&[
            "--workspace",
            "--all-targets",
            "--features",
            FEATURES,
            "--features",
            FEATURES_OF_POOL_STD,
            "--features",
            FEATURES_OF_POOL_SPIN,
        ]),
        clippy(&["--package", "deque-core", "--no-default-features"]),
        // Without metrics.
        clippy(&[
            "-p",
            "pool-std",
            "-p",
            "pool-spin",
            "--lib",
            "--tests",
            "--no-default-features",
        ]),
        clippy(&[
            "-p",
            "sleep-primitives",
            "-p",
            "sleep-core",
            "-p",
            "progress-core",
            "-p",
            "deque-core",
            "-p",
            "pool-core",
            "-p",
            "pool-spin",
            "-p",
            "pool-io",
            "--lib",
            "--tests",
            LOOM_FEATURE[0],
            LOOM_FEATURE[1],
        ])
        .env("RUSTFLAGS", LOOM)
        .env("CARGO_TARGET_DIR", target::directory("loom")),
    ];
    // What measures is in workspaces of its own.
    for directory in ["benches", "benches/apps", "benches/apps-ours", "benches/io"] {
        let manifest = ["--manifest-path", &format!("{directory}/Cargo.toml")];
        steps.push(Step::cargo(&["fmt", "--all", "--check"]).args(manifest));
        steps.push(
            clippy(&[manifest[0], manifest[1], "--all-targets"])
                .env("CARGO_TARGET_DIR", target::directory("benches")),
        );
    }
    // So is the simulator, whose flag changes the atomics of all crates below.
    let simulator = ["--manifest-path", "simulator/Cargo.toml"];
    steps.push(Step::cargo(&["fmt", "--all", "--check"]).args(simulator));
    steps.push(simulate::step("clippy").args(["--all-targets", "--", "-D", "warnings"]));
    steps.extend(boards::lints()?);
    steps.push(TYPOS.step(&["--color", "never"])?);
    Ok(phrases::check(&root())? + checks(steps)?)
}

fn no_std(_quick: bool) -> Result<u64> {
    // The first has no compare-and-swap; portable-atomic must be told how to make one.
    const WITHOUT_CAS: &str = "thumbv6m-none-eabi";
    const WITHOUT_THREADS: &str = "wasm32-unknown-unknown";
    const OTHER_SYSTEMS: [&str; 3] = [
        "aarch64-linux-android",
        "aarch64-apple-darwin",
        "x86_64-pc-windows-msvc",
    ];
    const TARGETS: [&str; 6] = [
        WITHOUT_CAS,
        "thumbv8m.main-none-eabihf",
        "riscv32imac-unknown-none-elf",
        "aarch64-unknown-none",
        "riscv64gc-unknown-none-elf",
        "x86_64-unknown-none",
    ];
    rustup::add_targets(&TARGETS)?;

    let build = |target: &str, arguments: &[&str]| {
        let flags = if target == WITHOUT_CAS && !arguments.contains(&"critical-section") {
            "-D warnings --cfg portable_atomic_unsafe_assume_single_core"
        } else {
            DENY_WARNINGS
        };
        Step::cargo(&["build", "--target", target])
            .args(arguments)
            .env("RUSTFLAGS", flags)
            .env("CARGO_TARGET_DIR", target::directory("no_std"))
    };
    let mut count = 0;
    for target in TARGETS {
        for package in CORE_CRATES {
            build(target, &["--package", package, "--no-default-features"]).run()?;
            count += 1;
        }
        build(target, &["--package", "deque-core", "--features", "alloc"]).run()?;
        build(
            target,
            &["--package", "pool-core", "--features", "alloc,deadlock"],
        )
        .run()?;
        count += 2;
    }
    // A system without threads, which has the caller's alone.
    rustup::add_targets(&[WITHOUT_THREADS])?;
    build(WITHOUT_THREADS, &["--package", "rayon-core"]).run()?;
    // Systems that are not at hand: what is theirs alone must compile, the tests too, and give no
    // warning. No linker is needed for that.
    rustup::add_component("clippy", &["clippy", "--version"])?;
    rustup::add_targets(&OTHER_SYSTEMS)?;
    for target in OTHER_SYSTEMS {
        Step::cargo(&["clippy", "--package", "rayon-core", "--target", target])
            .args([
                "--package",
                "pool-std",
                "--lib",
                "--profile",
                "test",
                "--features",
                "pool-std/live,pool-std/signal",
            ])
            .env("RUSTFLAGS", DENY_WARNINGS)
            .env("CARGO_TARGET_DIR", target::directory("no_std"))
            .run()?;
        count += 1;
    }
    // A system with threads, but without 64-bit atomics.
    rustup::add_targets(&[WITHOUT_WIDE_ATOMICS])?;
    build(WITHOUT_WIDE_ATOMICS, &["--package", "rayon-core"]).run()?;
    count += 2;
    for package in CORE_CRATES {
        build(
            WITHOUT_CAS,
            &["--package", package, "--features", "critical-section"],
        )
        .run()?;
        count += 1;
    }
    Ok(count)
}

fn docs(_quick: bool) -> Result<u64> {
    let doc = |arguments: &[&str]| {
        Step::cargo(&["doc", "--no-deps"])
            .args(arguments)
            .env("RUSTDOCFLAGS", DENY_WARNINGS)
    };
    // As users see them. Pages of an earlier run would hide that one is gone.
    let pages = target::directory("doc");
    if pages.exists() {
        fs::remove_dir_all(&pages)?;
    }
    doc(&["--workspace"])
        .args(["--features", FEATURES])
        .args(["--features", FEATURES_OF_POOL_STD])
        .args(["--features", FEATURES_OF_POOL_SPIN])
        .run()?;
    let followed = links::rustdoc::check(&pages)? + links::examples::check(&pages)?;
    let built = checks([
        doc(&["--workspace", "--all-features", "--document-private-items"]),
        doc(&["--package", "deque-core", "--no-default-features"]),
        // Its library has the name of rayon-core's, whose pages must stay.
        Step::cargo(&["rustdoc", "--lib", "--package", "rustc-rayon-core"])
            .args(["--", "--document-private-items"])
            .env("RUSTDOCFLAGS", DENY_WARNINGS)
            .env("CARGO_TARGET_DIR", target::directory("docs")),
    ])?;
    let root = root();
    let pages = links::check(&root)?
        + figures::check(&root)?
        + decisions::check(&root)?
        + scenarios::check(&root)?
        + book::check(&root)?;
    let sources = comments::check(&root)? + mutants::check_table(&root)?;
    Ok(1 + followed + built + pages + sources + packages::check()?)
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
