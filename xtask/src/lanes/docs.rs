//! The lane of all pages, and of the packages that ship.

use std::fs;

use anyhow::Result;

use super::{DENY_WARNINGS, FEATURES, FEATURES_OF_POOL_SPIN, FEATURES_OF_POOL_STD, checks};
use crate::{
    book, command::Step, comments, decisions, figures, links, mutants, packages, root, scenarios,
    target,
};

pub(super) fn run(_quick: bool) -> Result<u64> {
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
