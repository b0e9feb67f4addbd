//! The lane `rayon`: the published crate's whole test suite on our pool, and our own tests of
//! rayon-core's behaviour on the original.

use std::{fmt::Write, fs};

use anyhow::Result;

use super::{ORIGINAL, assert_ours, patch, surface, user};
use crate::{command::Step, published, published::Published, root, speaker::say};

/// As rayon's own automatic tests have it: some of its tests need deep stacks.
const STACK_SIZE: &str = "16777216";

pub(crate) fn lane(quick: bool) -> Result<u64> {
    let suite = rayons_tests(quick)?;
    let original = our_tests_on_the_original()?;
    let declarations = surface::compare()?;
    let projects = user::check()?;
    say!(
        "rayon's own tests: {suite} passed on our pool{}; \
         our tests of its behaviour: {original} passed on the original; \
         {declarations} public declarations are the same; \
         {projects} checks of users' projects passed",
        if quick { ", without its doc tests" } else { "" }
    );
    Ok(suite + original + declarations + projects)
}

/// Runs all tests of rayon with our rayon-core.
fn rayons_tests(quick: bool) -> Result<u64> {
    let rayon = Published::fetch("rayon", "~1.12")?;
    let manifest = rayon.copy_to(&root().join("target/rayon/suite"))?;
    assert_ours(&manifest)?;
    let test = |arguments: &[&str]| {
        Step::cargo(&["test", "--manifest-path"])
            .args([&manifest])
            .args(patch())
            .args(arguments)
            .env("CARGO_TARGET_DIR", root().join("target/rayon/build"))
            .env("RUST_MIN_STACK", STACK_SIZE)
            .run_tests()
    };
    let mut tests = test(&["--lib", "--tests"])?;
    if !quick {
        tests += test(&["--doc"])?;
    }
    Ok(tests)
}

/// Runs our tests of what rayon-core documents on the original: they would be worth nothing if they
/// demanded something else.
fn our_tests_on_the_original() -> Result<u64> {
    let mut lines = format!("[dependencies]\nrayon-core = \"{ORIGINAL}\"\n");
    for entry in fs::read_dir(root().join("compat/rayon-core/tests"))? {
        let path = entry?.path();
        let name = path.file_stem().expect("a file").to_string_lossy();
        write!(
            lines,
            "\n[[test]]\nname = \"{name}\"\npath = '{}'\n",
            path.display()
        )?;
    }
    let directory = root().join("target/rayon/original");
    published::write_package(&directory, &lines)?;
    Step::cargo(&["test", "--tests", "--manifest-path"])
        .args([directory.join("Cargo.toml")])
        .env("CARGO_TARGET_DIR", root().join("target/rayon/build"))
        .run_tests()
}
