//! The packages that ship, each built from what is in its own tarball.

use std::{fmt::Write, fs, path::Path};

use anyhow::{Result, bail, ensure};
use cargo_metadata::{MetadataCommand, Package};

use crate::{command::Step, lanes::FEATURES_OF_POOL_STD, root, target};

/// Members of the workspace that only this repository uses.
pub(crate) const NOT_SHIPPED: [&str; 6] = [
    "dedup",
    "dedup-cluster",
    "drop-in-tests",
    "query-engine",
    "word-server",
    "xtask",
];

/// Packages whose documentation is that of the original. A macro of `drop-in-tests` gives them
/// programs that must not compile.
pub(crate) const WITHOUT_EXAMPLES: [&str; 2] = ["rayon-core", "rustc-rayon-core"];

/// What some examples need, beside the features of pool-std.
const FEATURES_OF_EXAMPLES: &str = "pool-spin/deadlock,pool-spin/host,sleep-core/testing";

/// Packages everything that ships, and builds the tarballs and runs the examples of their pages, in
/// a workspace of their own where each finds the others. Returns the number of packages and
/// examples.
///
/// Cargo's own verification finds siblings in a registry that it keeps, and takes those of an
/// earlier run for good.
pub(crate) fn check() -> Result<u64> {
    let metadata = Step::cargo(&["metadata", "--no-deps", "--format-version", "1"]).read()?;
    for package in MetadataCommand::parse(metadata)?.packages {
        if let Some(field) = missing_field(&package) {
            bail!("the manifest of {} has no `{field}`", package.name);
        }
    }
    let directory = target::directory("packages");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    Step::cargo(&["package", "--workspace", "--no-verify"])
        .args(["--no-metadata", "--allow-dirty"])
        .args(NOT_SHIPPED.map(|name| ["--exclude", name]).concat())
        .env("CARGO_TARGET_DIR", &directory)
        .run()?;
    let sources = directory.join("sources");
    fs::create_dir(&sources)?;
    let mut count = 0;
    for entry in fs::read_dir(directory.join("package"))? {
        let tarball = entry?.path();
        if tarball.extension().is_some_and(|it| it == "crate") {
            Step::new("tar", &["-xf"])
                .args([&tarball])
                .directory(&sources)
                .run()?;
            count += 1;
        }
    }
    ensure!(count > 0, "nothing ships");
    write_workspace(&sources)?;
    // So that a new release of what they depend on changes nothing.
    fs::copy(root().join("Cargo.lock"), sources.join("Cargo.lock"))?;
    let cargo = |arguments: &[&str]| {
        Step::cargo(arguments)
            .directory(&sources)
            // A fresh one: all files of all tarballs have one time, so cargo would see no change in
            // them.
            .env("CARGO_TARGET_DIR", directory.join("build"))
    };
    cargo(&["check", "--workspace"]).run()?;
    let examples = cargo(&["test", "--doc", "--workspace"])
        .args(["--features", FEATURES_OF_EXAMPLES])
        .args(["--features", FEATURES_OF_POOL_STD])
        .args(WITHOUT_EXAMPLES.map(|name| ["--exclude", name]).concat())
        .run_tests()?;
    Ok(count + examples)
}

/// Returns what the page of a package in a registry would lack, if the package may be published.
fn missing_field(package: &Package) -> Option<&'static str> {
    if package.publish.is_some() {
        return None;
    }
    let fields = [
        ("description", package.description.is_some()),
        ("documentation", package.documentation.is_some()),
        ("license", package.license.is_some()),
        ("readme", package.readme.is_some()),
        ("keywords", !package.keywords.is_empty()),
        ("categories", !package.categories.is_empty()),
    ];
    let missing = fields.into_iter().find(|(_, is_there)| !is_there);
    missing.map(|(field, _)| field)
}

/// Makes a workspace of all packages in a directory, each of which takes the others from there.
fn write_workspace(directory: &Path) -> Result<()> {
    let manifest = directory.join("Cargo.toml");
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n".to_owned();
    fs::write(&manifest, &text)?;
    let metadata = Step::cargo(&["metadata", "--no-deps", "--format-version", "1"])
        .directory(directory)
        .read()?;
    text += "\n[patch.crates-io]\n";
    for package in MetadataCommand::parse(metadata)?.packages {
        let path = package.manifest_path.parent().expect("a file");
        writeln!(text, "{} = {{ path = '{path}' }}", package.name)?;
    }
    fs::write(&manifest, text)?;
    Ok(())
}
