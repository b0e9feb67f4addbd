//! Checks the relative links of all Markdown pages, anchors included, and that every page of the
//! book is in its table of contents. `rustdoc` checks the pages of rustdoc.

pub(crate) mod examples;
pub(crate) mod html;
mod page;
pub(crate) mod rustdoc;

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
};

use anyhow::{Context, Result, bail};

use crate::speaker::say;
pub(crate) use page::Link;
use page::Page;

/// Checks all pages below `root`, and returns how many links it followed.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let pages = read_pages(root)?;
    let mut links = 0;
    let mut broken = Vec::new();
    for (path, page) in &pages {
        for link in &page.links {
            links += 1;
            if let Err(reason) = follow(link, path, &pages) {
                broken.push(format!("{}: {link}: {reason}", path.display()));
            }
        }
    }
    broken.extend(pages_outside_the_contents(root, &pages)?);
    if !broken.is_empty() {
        bail!("broken links and unlisted pages:\n{}", broken.join("\n"));
    }
    say!("checked {links} links in {} pages", pages.len());
    Ok(links)
}

type Pages = BTreeMap<PathBuf, Page>;

fn read_pages(root: &Path) -> Result<Pages> {
    let mut pages = BTreeMap::new();
    for path in find_pages(root)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        pages.insert(path, Page::parse(&text));
    }
    Ok(pages)
}

/// Returns the Markdown pages below `root`, in order.
pub(crate) fn find_pages(root: &Path) -> Result<Vec<PathBuf>> {
    find_files(root, ".md")
}

/// Returns the files below `root` whose names end so, in order. A file that is a symbolic link is
/// left out: the links of a page are meant for the directory of the page itself.
pub(crate) fn find_files(root: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_symlink() {
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    directories.push(path);
                }
            } else if name.ends_with(ending) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Checks that a link on the page at `from` leads to a file, and to a heading if it has an anchor.
fn follow(link: &Link, from: &Path, pages: &Pages) -> Result<(), &'static str> {
    let target = link.target(from);
    if !target.exists() {
        return Err("no such file");
    }
    match (&link.anchor, pages.get(&target)) {
        (Some(anchor), Some(page)) if !page.anchors.contains(anchor) => Err("no such heading"),
        // The link leads to the first one, which is seldom the one that is meant.
        (Some(anchor), Some(page)) if page.ambiguous.contains(anchor) => {
            Err("several headings have this text")
        }
        // Lines of source files are not checked.
        _ => Ok(()),
    }
}

/// Resolves `.` and `..`, so that each page has one path.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut normalized = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => _ = normalized.pop(),
            component => normalized.push(component),
        }
    }
    normalized
}

fn pages_outside_the_contents(root: &Path, pages: &Pages) -> Result<Vec<String>> {
    let book = root.join("docs").join("src");
    let contents = book.join("SUMMARY.md");
    let contents = pages.get(&contents).context("the book has no contents")?;
    let listed: Vec<_> = contents
        .links
        .iter()
        .map(|link| normalized(&book.join(&link.path)))
        .collect();
    Ok(pages
        .keys()
        .filter(|page| page.starts_with(&book) && !page.ends_with("SUMMARY.md"))
        .filter(|page| !listed.contains(page))
        .map(|page| format!("{}: not in SUMMARY.md", page.display()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_links_within_and_across_pages() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = directory.join("src");
        let pages = BTreeMap::from([
            (source.join("main.rs"), Page::parse("# One two\n")),
            (
                directory.join("Cargo.toml"),
                Page::parse("# Three\n# Two\n# Two\n"),
            ),
        ]);
        let check = |target: &str| {
            let link = Link::parse(target).unwrap();
            follow(&link, &source.join("main.rs"), &pages)
        };
        assert_eq!(check("#one-two"), Ok(()));
        assert_eq!(check("#three"), Err("no such heading"));
        assert_eq!(check("../Cargo.toml#three"), Ok(()));
        assert_eq!(check("../Cargo.toml#one-two"), Err("no such heading"));
        assert_eq!(
            check("../Cargo.toml#two"),
            Err("several headings have this text")
        );
        assert_eq!(check("../Cargo.toml#two-1"), Ok(()));
        assert_eq!(check("./bench.rs#L1"), Ok(()));
        assert_eq!(check("no/such/file.rs"), Err("no such file"));
    }
}
