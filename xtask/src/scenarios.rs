//! Checks that each test exists that the page "What others shipped" names.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::speaker::say;

const PAGE: &str = "docs/src/scenarios.md";

/// Checks the page below `root`, and returns how many tests it names.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let page = root.join(PAGE);
    let text = fs::read_to_string(&page).context(PAGE)?;
    let directory = page.parent().context("a page is in a directory")?;
    let tests = named_tests(&text);
    ensure!(!tests.is_empty(), "{PAGE} names no test");
    let read = |file: &str| fs::read_to_string(directory.join(file)).context(file.to_owned());
    let missing = missing_tests(&tests, read)?;
    if !missing.is_empty() {
        bail!(
            "{PAGE} names tests that do not exist:\n{}",
            missing.join("\n")
        );
    }
    say!("checked {} tests of {PAGE}", tests.len());
    Ok(tests.len() as u64)
}

/// Returns those of the tests that are not in their files.
fn missing_tests(
    tests: &[(String, String)],
    read: impl Fn(&str) -> Result<String>,
) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for (test, file) in tests {
        // A property test has arguments.
        if !read(file)?.contains(&format!("fn {test}(")) {
            missing.push(format!("{test} in {file}"));
        }
    }
    Ok(missing)
}

/// Returns the names and the files of the tests to which a page links.
fn named_tests(text: &str) -> Vec<(String, String)> {
    let (mut tests, mut file) = (Vec::new(), None);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => file = Some(dest_url.into_string()),
            Event::Code(name) => tests.extend(file.take().map(|file| (name.into_string(), file))),
            Event::End(TagEnd::Link) => file = None,
            _ => {}
        }
    }
    tests.retain(|(_, file)| file.ends_with(".rs"));
    tests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_links_with_code_that_lead_to_sources() {
        let text = "| [`one`](../a.rs), [`two`](b/c.rs) | [`page`](d.md) [text](e.rs) `code` |";
        let expected = [("one", "../a.rs"), ("two", "b/c.rs")];
        let expected = expected.map(|(test, file)| (test.to_owned(), file.to_owned()));
        assert_eq!(named_tests(text), expected);
    }

    #[test]
    fn finds_a_test_that_does_not_exist() {
        let read = |file: &str| {
            Ok(format!(
                "#[test]\nfn one() {{}}\nfn two_more() {{}} // {file}"
            ))
        };
        let tests = named_tests("[`one`](a.rs) [`two`](a.rs)");
        assert_eq!(missing_tests(&tests, read).unwrap(), ["two in a.rs"]);
        assert!(missing_tests(&tests, |_| bail!("no file")).is_err());
    }
}
