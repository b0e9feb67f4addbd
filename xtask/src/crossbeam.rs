//! The lane `crossbeam`: crossbeam-deque's own tests on deque-core.

use std::{fmt::Write, fs};

use anyhow::{Result, ensure};

use crate::{
    command::Step,
    published::{self, Published},
    root,
    speaker::say,
    target,
};

/// How many tests the published crate has. Fewer would mean that some were not found.
const TESTS: u64 = 38;
/// How often they are run, since most of them are races.
const RUNS: u64 = 20;
const QUICK_RUNS: u64 = 2;

pub(crate) fn lane(quick: bool) -> Result<u64> {
    let directory = target::directory("crossbeam");
    let published = directory.join("published");
    Published::fetch("crossbeam-deque", "~0.8.6")?.copy_to(&published)?;
    // A package of those tests and the adapter, which has the library's name, in its place.
    let mut lines = format!(
        "[dependencies]\n\
         crossbeam-deque-adapter.path = '{}'\n\
         crossbeam-utils = \"0.8\"\n\
         rand = \"0.8\"\n",
        root().join("compat/crossbeam-deque").display()
    );
    for entry in fs::read_dir(published.join("tests"))? {
        let path = entry?.path();
        let name = path.file_stem().expect("a file").to_string_lossy();
        write!(
            lines,
            "\n[[test]]\nname = \"{name}\"\npath = '{}'\n",
            path.display()
        )?;
    }
    let suite = directory.join("suite");
    published::write_package(&suite, &lines)?;
    let runs = if quick { QUICK_RUNS } else { RUNS };
    let mut passed = 0;
    for _ in 0..runs {
        let tests = Step::cargo(&["test", "--release", "--tests", "--manifest-path"])
            .args([suite.join("Cargo.toml")])
            .env("CARGO_TARGET_DIR", directory.join("build"))
            .run_tests()?;
        ensure!(
            tests >= TESTS,
            "{tests} tests of crossbeam-deque passed, not {TESTS}"
        );
        passed += tests;
    }
    say!("crossbeam-deque's own tests: {TESTS} passed on deque-core, {runs} times");
    Ok(passed)
}
