//! The relative links of HTML pages.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::PathBuf,
};

use anyhow::{Result, bail};
use regex::Regex;

use super::{Link, normalized, page::html_anchors};

/// Whether the part of a link behind `#` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchors {
    Follow,
    Ignore,
}

/// Checks that each relative link of some pages leads to a file, and, if that is one of them, to a
/// place on it. Returns how many links there are.
pub(crate) fn check(pages: &[PathBuf], anchors: Anchors) -> Result<u64> {
    let (mut places, mut links) = (HashMap::new(), Vec::new());
    for page in pages {
        let html = fs::read_to_string(page)?;
        if anchors == Anchors::Follow {
            let of_page: HashSet<_> = html_anchors(&html).into_iter().collect();
            places.insert(page.clone(), of_page);
        }
        links.extend(relative_links(&html).into_iter().map(|link| (page, link)));
    }
    let mut broken = Vec::new();
    for (page, link) in &links {
        let target = normalized(&link.target(page));
        let has_place = match (&link.anchor, places.get(&target)) {
            (Some(anchor), Some(places)) => places.contains(anchor),
            _ => true,
        };
        if !target.exists() || !has_place {
            broken.push(format!("{}: {link}", page.display()));
        }
    }
    if !broken.is_empty() {
        bail!("links that lead nowhere:\n{}", broken.join("\n"));
    }
    Ok(links.len() as u64)
}

/// Returns the links of a page to files of its own directory and others.
fn relative_links(html: &str) -> Vec<Link> {
    let attribute = Regex::new(r#"<a\b[^>]*\bhref="([^"]+)""#).expect("valid");
    attribute
        .captures_iter(html)
        .map(|captures| captures[1].replace("%20", " "))
        .filter(|link| !of_std(link))
        .filter_map(|link| Link::parse(link.split('?').next()?))
        .collect()
}

/// Whether a link comes from the documentation of an item of the standard library that a crate
/// re-exports.
fn of_std(link: &str) -> bool {
    let path = link.trim_start_matches("../");
    path.starts_with("std/") || path.starts_with("nomicon/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_relative_links() {
        let html = "<a class=\"mod\" href=\"a/index.html#b\">a</a> <a href=\"#c\">c</a> \
                    <a href=\"https://d.e/f.html\">f</a> <a title=\"g\"\nhref=\"../g.md\">g</a> \
                    <link href=\"h.css\"> <a>i</a> <a href=\"../../std/j.html\">j</a>";
        let links: Vec<_> = relative_links(html).iter().map(Link::to_string).collect();
        assert_eq!(links, ["a/index.html#b", "#c", "../g.md"]);
    }
}
