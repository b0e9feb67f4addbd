//! The lanes that run the tests of the pool on other processors and other systems.

use std::{fs, path::Path};

use anyhow::Result;

use super::{SCHEDULED, need_make, need_x86_64_linux};
use crate::{
    command::{LEFT_OUT, Step},
    debian, root, rustup,
    speaker::say,
    target,
};

/// For tests with random programs: a quarter of those that lane `host` runs.
const FEWER_CASES: (&str, &str) = ("PROPTEST_CASES", "64");

pub(super) fn qemu_user(_quick: bool) -> Result<u64> {
    const AARCH64: &str = "aarch64-unknown-linux-musl";
    const EMULATOR: &str = "qemu-aarch64";
    need_x86_64_linux()?;
    rustup::add_targets(&[AARCH64])?;
    debian::need(EMULATOR, "qemu-user")?;
    need_make()?;
    foreign_tests(AARCH64)
        .args(["--package", "pool-std"])
        .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER", EMULATOR)
        // Tests that start processes of their own read it.
        .env("TEST_RUNNER", EMULATOR)
        // Cycles and histories take several times as long there, and lane `host` has more of them.
        .env("STRESS_CYCLES", "5000")
        .env("STRESS_SECONDS", "10")
        // It counts memory, as on every system, and spawns a million jobs for it.
        .args(["--", "--skip", "a_burst_of_spawns"])
        // The emulator aborts if a process of several threads forks and its child starts threads.
        .args(["--skip", "children::"])
        .run_tests()
}

pub(super) fn i686(_quick: bool) -> Result<u64> {
    const I686: &str = "i686-unknown-linux-musl";
    need_x86_64_linux()?;
    rustup::add_targets(&[I686])?;
    need_make()?;
    // Such a processor runs these programs itself.
    foreign_tests(I686)
        .args(["--package", "pool-std", "--package", "rayon-core"])
        .args(["--package", "drop-in-tests", "--package", "rayon-names"])
        .args(["--package", "sleep-core", "--package", "deque-core"])
        .args(["--package", "pool-core", "--package", "progress-core"])
        .args(["--package", "sleep-primitives"])
        .args(SCHEDULED)
        .run_tests()
}

/// Wine runs these programs. It has the calls by which threads wait for a word, and says that it is
/// Wine, because its fence for all threads is none.
pub(super) fn windows(_quick: bool) -> Result<u64> {
    const WINDOWS: &str = "x86_64-pc-windows-gnu";
    const WINE: &str = "/usr/lib/wine/wine64";
    const WINE_SERVER: &str = "/usr/lib/wine/wineserver";
    // Wine 8 fails to start one process of some 3,000 so, even if a single thread starts programs
    // that only end.
    const NO_PROCESS: &str = "Os { code: 1359, kind: Uncategorized";
    need_x86_64_linux()?;
    rustup::add_targets(&[WINDOWS])?;
    debian::need("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64-win32")?;
    debian::need(WINE, "wine64")?;
    let directory = target::directory("windows");
    let wine_prefix = directory.join("wine");
    fs::create_dir_all(&wine_prefix)?;
    let with_wine = |step: Step| {
        step.env("WINEPREFIX", &wine_prefix)
            // It tells of each function that it does not have.
            .env("WINEDEBUG", "-all")
    };
    // By default it ends three seconds after the last program, and one that begins just then fails.
    // It is refused if it runs already.
    with_wine(Step::new(WINE_SERVER, &["-p60"])).succeeds();
    // The first start makes the files of a system. Two programs must not both do so.
    with_wine(Step::new(WINE, &["wineboot"])).run()?;
    provide_random_numbers(WINDOWS, &directory.join(WINDOWS).join("debug/deps"))?;
    let tests = || {
        let tests = Step::cargo(&["test", "--lib", "--tests", "--target", WINDOWS])
            .args(["--package", "pool-std", "--package", "rayon-core"])
            .env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", WINE)
            .env(FEWER_CASES.0, FEWER_CASES.1)
            .env("CARGO_TARGET_DIR", &directory);
        with_wine(tests).run_tests()
    };
    tests().or_else(|error| {
        // Of tests that start themselves as processes of their own.
        if !is_each_failure_of(NO_PROCESS, &error.to_string()) {
            return Err(error);
        }
        say!("Wine could not start a process, so the tests run again: {error}");
        tests()
    })
}

/// Whether each failed test that an error quotes says this.
fn is_each_failure_of(phrase: &str, error: &str) -> bool {
    // The names of those that failed come last, after what each has printed.
    let (reports, _) = error.rsplit_once("failures:").unwrap_or_default();
    let mut failures = reports.split("---- ").skip(1).peekable();
    let is_whole = !error.contains(LEFT_OUT);
    is_whole && failures.peek().is_some() && failures.all(|failure| failure.contains(phrase))
}

/// Builds a library of Windows that the standard library needs, and that Wine has from version 9
/// on, beside the programs.
fn provide_random_numbers(target: &str, directory: &Path) -> Result<()> {
    fs::create_dir_all(directory)?;
    let source = root().join("xtask/src/lanes/systems/bcryptprimitives.rs");
    let library = directory.join("bcryptprimitives.dll");
    Step::new("rustc", &["--edition", "2024", "--crate-type", "cdylib"])
        .args(["--target", target, "-C", "panic=abort", "-C", "opt-level=1"])
        .args([Path::new("-o"), &library, &source])
        .run()
}

/// Returns a step that tests on another architecture. Rust's own linker links it, so that no other
/// compiler is needed.
fn foreign_tests(target: &str) -> Step {
    let variable = target.to_uppercase().replace('-', "_");
    Step::cargo(&["test", "--lib", "--tests", "--target", target])
        .env(FEWER_CASES.0, FEWER_CASES.1)
        .env(&format!("CARGO_TARGET_{variable}_LINKER"), "rust-lld")
        .env("CARGO_TARGET_DIR", target::directory("user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_failure_is_not_excused_by_one_of_the_system() {
        let report = |failures: &[&str]| {
            let each = failures
                .iter()
                .map(|it| format!("---- {it} stdout ----\n{it}\n"));
            format!(
                "`cargo` failed\nfailures:\n{}\nfailures:\n    x\n",
                each.collect::<String>()
            )
        };
        let is_excused = |failures: &[&str]| is_each_failure_of("no process", &report(failures));
        assert!(is_excused(&["a: no process"]));
        assert!(is_excused(&["a: no process", "b: no process"]));
        assert!(!is_excused(&["a: no process", "b: a lost wake-up"]));
        assert!(!is_excused(&[]));
        assert!(!is_each_failure_of(
            "no process",
            "no process, and no report"
        ));
    }
}
