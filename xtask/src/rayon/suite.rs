//! The lane `rayon`, for each drop-in: the whole test suite of the published parallel iterators on
//! our pool, and our own tests of the original's behavior on the original.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};

use super::{DropIn, RAYON, RUSTC, python, surface, user};
use crate::{command::Step, published, published::Published, root, speaker::say, target};

/// The tests of what differs from the original.
const OURS_ALONE: [&str; 2] = ["differs", "fork"];

/// The page that says how many tests there are.
const PAGE: &str = "docs/src/rayon.md";

/// As rayon's own automatic tests have it: some of its tests need deep stacks.
const STACK_SIZE: &str = "16777216";

pub(crate) fn lane(quick: bool) -> Result<u64> {
    let mut tests = 0;
    for drop_in in [&RAYON, &RUSTC] {
        let (of_iterators, examples) = tests_of_iterators(drop_in, quick)?;
        let without_examples = of_iterators + tests_of_core(drop_in)?;
        ensure!(
            without_examples >= drop_in.least_tests,
            "only {without_examples} tests of {} and of its core were run",
            drop_in.iterators.0
        );
        let suite = without_examples + examples;
        let original = our_tests_on_the_original(drop_in)?;
        let declarations = surface::compare(drop_in)?;
        say!(
            "{}'s own tests, and its core's: {suite} passed on our pool{}; \
             our tests of its behavior: {original} passed on the original; \
             {declarations} public declarations are the same",
            drop_in.iterators.0,
            match (drop_in.package == RUSTC.package, quick) {
                (true, _) => ", without its doc tests and those of octillions of elements",
                (false, true) => ", without its doc tests",
                (false, false) => "",
            }
        );
        if drop_in.package == RAYON.package && !quick {
            check_page(&[
                format!("all of its {} tests", of_iterators + examples),
                format!("our {original} tests of {}'s", drop_in.package),
                format!("{declarations} of them"),
            ])?;
        }
        tests += suite + original + declarations;
    }
    let projects = user::check()?;
    say!("{projects} checks of users' projects passed");
    let forks = python::check()?;
    say!("a program of Python forks on our pool, and waits for good on the original");
    Ok(tests + projects + forks)
}

/// Checks that the page says what was counted.
fn check_page(phrases: &[String]) -> Result<()> {
    let page = fs::read_to_string(root().join(PAGE))?;
    for phrase in phrases {
        ensure!(page.contains(phrase), "{PAGE} does not say \"{phrase}\"");
    }
    Ok(())
}

/// Runs all tests of the published parallel iterators with our drop-in. Returns how many passed,
/// and how many examples of their documentation.
fn tests_of_iterators(drop_in: &DropIn, quick: bool) -> Result<(u64, u64)> {
    let (name, version) = drop_in.iterators;
    let iterators = Published::fetch(name, version)?;
    let manifest = iterators.copy_to(&target::directory("rayon/suite").join(name))?;
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
            .run_tests()
    };
    // The fork's tests are an older copy of the others. Those of octillions of elements take half
    // of the time.
    let is_original = name == RAYON.iterators.0;
    let left_out: &[&str] = match is_original {
        true => &[],
        false => &["--", "--skip", "octillion"],
    };
    let tests = test(&[&["--lib", "--tests"], left_out].concat())?;
    if quick || !is_original {
        return Ok((tests, 0));
    }
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, with_merged_doc_tests(&text)?)?;
    Ok((tests, test(&["--doc"])?))
}

/// Changes a manifest to the edition whose documentation tests are one program. In an older one
/// each is a program of its own, and to link them all takes four times as long.
fn with_merged_doc_tests(manifest: &str) -> Result<String> {
    let mut changed = String::new();
    let mut editions = 0;
    for line in manifest.lines() {
        if line.starts_with("edition = ") {
            editions += 1;
            changed += "edition = \"2024\"\n";
        } else if !line.starts_with("rust-version = ") {
            // That version may be too old for the edition.
            changed += line;
            changed.push('\n');
        }
    }
    ensure!(editions == 1, "the manifest names {editions} editions");
    ensure!(
        !manifest.contains("[lints"),
        "the manifest has lints of its own"
    );
    // What the edition only warns of.
    Ok(changed + "\n[lints.rust]\nunsafe_op_in_unsafe_fn = \"allow\"\n")
}

/// What the original's own tests need beside it.
const FOR_TESTS: &str = "crossbeam-utils = \"0.8\"\nscoped-tls = \"1.0\"\nlibc = \"0.2\"\n";

/// Runs the test programs of the original itself on ours: a pool that is built twice, panics,
/// threads of a scope, overflows of the stack. Its unit tests see its inside; what they show of the
/// pool's behavior is in our own tests.
fn tests_of_core(drop_in: &DropIn) -> Result<u64> {
    let published = Published::fetch(drop_in.package, drop_in.original)?;
    let name = format!("{}-itself", drop_in.package);
    let source = target::directory("rayon/suite").join(&name);
    published.copy_to(&source)?;
    let mut lines = drop_in.dependency_on_original() + FOR_TESTS;
    let programs = add_test_programs(&mut lines, &source.join("tests"), &[])?;
    ensure!(programs > 0, "{} has no test programs", drop_in.package);
    let directory = target::directory("rayon").join(&name);
    published::write_package(&directory, &lines)?;
    let manifest = directory.join("Cargo.toml");
    Step::cargo(&["update", "--manifest-path"])
        .args([&manifest])
        .args(drop_in.patch())
        .run()?;
    drop_in.assert_ours(&manifest)?;
    Step::cargo(&["test", "--tests", "--manifest-path"])
        .args([&manifest])
        .args(drop_in.patch())
        .env("CARGO_TARGET_DIR", build_directory())
        .env("RUST_MIN_STACK", STACK_SIZE)
        .run_tests()
}

/// Adds the programs of a directory to a manifest, but for some. Returns how many.
fn add_test_programs(lines: &mut String, directory: &Path, but: &[&str]) -> Result<usize> {
    let mut programs = 0;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_stem().expect("an entry").to_string_lossy();
        if path.is_dir() || but.contains(&&*name) {
            continue;
        }
        write!(
            lines,
            "\n[[test]]\nname = \"{name}\"\npath = '{}'\n",
            path.display()
        )?;
        programs += 1;
    }
    Ok(programs)
}

/// Runs our tests of what the original documents on the original: they would be worth nothing if
/// they demanded something else.
fn our_tests_on_the_original(drop_in: &DropIn) -> Result<u64> {
    let mut lines = drop_in.dependency_on_original();
    add_test_programs(&mut lines, &drop_in.directory().join("tests"), &OURS_ALONE)?;
    let directory = target::directory("rayon/original").join(drop_in.package);
    published::write_package(&directory, &lines)?;
    // What both drop-ins have to do is a module, for which each of their programs names its own
    // library.
    let documented = root().join("compat/tests/tests/documented/mod.rs");
    let program = format!("#[path = {documented:?}]\nmod documented;\n");
    fs::create_dir_all(directory.join("tests"))?;
    fs::write(directory.join("tests/documented.rs"), program)?;
    Step::cargo(&["test", "--tests", "--manifest-path"])
        .args([directory.join("Cargo.toml")])
        .env("CARGO_TARGET_DIR", build_directory())
        .run_tests()
}

/// Everything that this lane builds is here, so that no dependency is built twice.
pub(super) fn build_directory() -> PathBuf {
    target::directory("rayon/build")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doc_tests_are_merged_by_the_edition() {
        let manifest = "[package]\nedition = \"2021\"\nrust-version = \"1.80\"\nname = \"a\"\n";
        let changed = with_merged_doc_tests(manifest).unwrap();
        let expected = "[package]\nedition = \"2024\"\nname = \"a\"\n\n[lints.rust]\n";
        assert!(changed.starts_with(expected), "{changed}");
        assert!(with_merged_doc_tests("[package]\n").is_err());
        assert!(with_merged_doc_tests(&changed).is_err());
    }
}
