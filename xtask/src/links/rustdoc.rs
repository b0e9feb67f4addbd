//! Checks what rustdoc has written: that each relative link leads to a page, and that the pages of
//! types begin with what is used first.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use regex::Regex;

use super::html;
use crate::speaker::say;

/// The methods with which the pages of types begin, in this order.
const FIRST_METHODS: [(&str, &[&str]); 2] = [
    (
        "pool_std/struct.ThreadPool.html",
        &["install", "call", "join", "scope"],
    ),
    (
        "pool_std/struct.ThreadPoolBuilder.html",
        &["new", "num_threads", "thread_name", "build"],
    ),
];

/// Checks the pages of public items in a directory, and returns how many it has checked.
pub(crate) fn check(directory: &Path) -> Result<u64> {
    let mut pages = Vec::new();
    find_pages(directory, &mut pages)?;
    // Help and settings, which rustdoc writes beside the crates.
    pages.retain(|page| page.parent() != Some(directory));
    let links = html::check(&pages, html::Anchors::Ignore)?;
    for (page, expected) in FIRST_METHODS {
        let html = fs::read_to_string(directory.join(page)).context(page)?;
        let found = methods(&html);
        if !found.starts_with(expected) {
            let begin = &found[..expected.len().min(found.len())];
            bail!("{page} begins with {begin:?}, instead of {expected:?}");
        }
    }
    say!("checked {links} links in {} pages of rustdoc", pages.len());
    Ok(pages.len() as u64)
}

/// Finds the pages of items. Those of sources have no links of ours.
fn find_pages(directory: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "src" && name != "static.files" {
                find_pages(&path, pages)?;
            }
        } else if name.ends_with(".html") {
            pages.push(path);
        }
    }
    Ok(())
}

/// Returns the names of the methods of a type, in the order of its page.
fn methods(html: &str) -> Vec<&str> {
    let heading = Regex::new(r#"<section id="method\.(\w+)""#).expect("valid");
    heading
        .captures_iter(html)
        .map(|captures| captures.get(1).expect("in each match").as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_methods_in_their_order() {
        let html = "<section id=\"method.new\" class=\"method\"></section>\
                    <section id=\"impl-Debug\"></section>\
                    <section id=\"method.build\" class=\"method\"></section>";
        assert_eq!(methods(html), ["new", "build"]);
    }
}
