//! The table of contents.

use std::{fmt::Write as _, fs, path::Path};

use anyhow::{Context as _, Result};

use super::pages::{INTRODUCTION, Pages};
use crate::links::Link;

/// Returns the table of contents: that of `docs/src`, then the pages that it does not have.
pub(super) fn of(root: &Path, pages: &Pages) -> Result<String> {
    let written = root.join("docs/src/SUMMARY.md");
    let written = fs::read_to_string(written).context("docs/src/SUMMARY.md")?;
    let mut contents = Link::rewrite(&written, |link| {
        let path = format!("docs/src/{link}");
        (path != INTRODUCTION).then_some(path)
    });
    for (path, page) in pages.other_pages() {
        writeln!(contents, "- [{}]({})", page.title, path.display())?;
    }
    contents.push_str("\n# Sources\n\n");
    for path in pages.sources() {
        writeln!(contents, "- [{}]({}.md)", path.display(), path.display())?;
    }
    Ok(contents)
}
