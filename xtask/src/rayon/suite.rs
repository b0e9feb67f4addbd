//! The lane `rayon`, for each drop-in: the whole test suite of the published parallel iterators on our
//! pool, and our own tests of the original's behaviour on the original.

use std::{fmt::Write, fs, path::PathBuf};

use anyhow::Result;

use super::{DropIn, RAYON, RUSTC, surface, user};
use crate::{command::Step, published, published::Published, root, speaker::say};

/// The tests of what differs from the original.
const OURS_ALONE: [&str; 1] = ["differs"];

/// As our own workspace has it: less to build and to link.
const LINE_TABLES: (&str, &str) = ("CARGO_PROFILE_DEV_DEBUG", "line-tables-only");

/// As rayon's own automatic tests have it: some of its tests need deep stacks.
const STACK_SIZE: &str = "16777216";

pub(crate) fn lane(quick: bool) -> Result<u64> {
    let mut tests = 0;
    for drop_in in [&RAYON, &RUSTC] {
        let suite = tests_of_iterators(drop_in, quick)?;
        let original = our_tests_on_the_original(drop_in)?;
        let declarations = surface::compare(drop_in)?;
        say!(
            "{}'s own tests: {suite} passed on our pool{}; \
             our tests of its behaviour: {original} passed on the original; \
             {declarations} public declarations are the same",
            drop_in.iterators.0,
            if quick { ", without its doc tests" } else { "" }
        );
        tests += suite + original + declarations;
    }
    let projects = user::check()?;
    say!("{projects} checks of users' projects passed");
    Ok(tests + projects)
}

/// Runs all tests of the published parallel iterators with our drop-in.
fn tests_of_iterators(drop_in: &DropIn, quick: bool) -> Result<u64> {
    let (name, version) = drop_in.iterators;
    let iterators = Published::fetch(name, version)?;
    let manifest = iterators.copy_to(&root().join("target/rayon/suite").join(name))?;
    // A lock file that was published with the source may name an older version than ours.
    Step::cargo(&["update", drop_in.package, "--manifest-path"])
        .args([&manifest])
        .args(drop_in.patch())
        .run()?;
    drop_in.assert_ours(&manifest)?;
    let test = |arguments: &[&str]| {
        Step::cargo(&["test", "--manifest-path"])
            .args([&manifest])
            .args(drop_in.patch())
            .args(arguments)
            .env("CARGO_TARGET_DIR", build_directory())
            .env("RUST_MIN_STACK", STACK_SIZE)
            .env(LINE_TABLES.0, LINE_TABLES.1)
            .run_tests()
    };
    let mut tests = test(&["--lib", "--tests"])?;
    if !quick {
        tests += test(&["--doc"])?;
    }
    Ok(tests)
}

/// Runs our tests of what the original documents on the original: they would be worth nothing if they
/// demanded something else.
fn our_tests_on_the_original(drop_in: &DropIn) -> Result<u64> {
    let mut lines = drop_in.dependency_on_original();
    for entry in fs::read_dir(drop_in.directory().join("tests"))? {
        let path = entry?.path();
        let name = path.file_stem().expect("an entry").to_string_lossy();
        if path.is_dir() || OURS_ALONE.contains(&&*name) {
            continue;
        }
        write!(
            lines,
            "\n[[test]]\nname = \"{name}\"\npath = '{}'\n",
            path.display()
        )?;
    }
    let directory = root().join("target/rayon/original").join(drop_in.package);
    published::write_package(&directory, &lines)?;
    Step::cargo(&["test", "--tests", "--manifest-path"])
        .args([directory.join("Cargo.toml")])
        .env("CARGO_TARGET_DIR", build_directory())
        .env(LINE_TABLES.0, LINE_TABLES.1)
        .run_tests()
}

/// Everything that this lane builds is here, so that no dependency is built twice.
pub(super) fn build_directory() -> PathBuf {
    root().join("target/rayon/build")
}
