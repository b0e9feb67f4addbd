//! The relative links of all Markdown pages lead somewhere, and every page of the book is in its
//! table of contents.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};

/// Returns how many links were followed.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let mut pages = Vec::new();
    find_pages(root, &mut pages)?;
    let mut links = 0;
    let mut broken = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        let directory = page.parent().expect("a file is in a directory");
        for target in relative_links(&text) {
            links += 1;
            if !directory.join(target).exists() {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    broken.extend(pages_outside_the_contents(root, &pages)?);
    if !broken.is_empty() {
        bail!(
            "links that lead nowhere, or pages that no link leads to:\n{}",
            broken.join("\n")
        );
    }
    println!("{links} links in {} pages lead somewhere", pages.len());
    Ok(links)
}

fn find_pages(directory: &Path, pages: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if name != "target" && name != "book" && !name.starts_with('.') {
                find_pages(&path, pages)?;
            }
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
    Ok(())
}

/// The targets of `[text](target)`, and of `[text]: target` on a line of its own, without scheme, and
/// without what comes after `#`.
fn relative_links(text: &str) -> impl Iterator<Item = &str> {
    let in_line = text.split("](").skip(1);
    let in_line = in_line.filter_map(|rest| rest.split(')').next());
    let definitions = text.lines().filter_map(|line| {
        let (name, target) = line.strip_prefix('[')?.split_once("]: ")?;
        (!name.contains(']')).then_some(target)
    });
    in_line.chain(definitions).filter_map(|target| {
        let target = target.split('#').next()?;
        let is_path = !target.is_empty()
            && !target.contains("://")
            && !target.contains("::")
            && target.contains('.');
        is_path.then_some(target)
    })
}

fn pages_outside_the_contents(root: &Path, pages: &[PathBuf]) -> Result<Vec<String>> {
    let book = root.join("docs").join("src");
    let contents = fs::read_to_string(book.join("SUMMARY.md")).context("the book has contents")?;
    let listed: Vec<_> = relative_links(&contents)
        .map(|link| book.join(link))
        .collect();
    Ok(pages
        .iter()
        .filter(|page| page.starts_with(&book) && !page.ends_with("SUMMARY.md"))
        .filter(|page| !listed.contains(page))
        .map(|page| format!("{} is not in SUMMARY.md", page.display()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_paths_are_links_to_follow() {
        let text = "[a](b.md) [c](https://d.e) [f](#g) [h](i/j.rs#k) [l](crate::M) [n](o)\n\
            [p]: q.rs\n[r]: crate::S\n- [ ] t: u.v";
        let links: Vec<_> = relative_links(text).collect();
        assert_eq!(links, ["b.md", "i/j.rs", "q.rs"]);
    }
}
