//! Checks that each decision page is short enough to be read, and long enough to be a page.

use std::{fs, ops::RangeInclusive, path::Path};

use anyhow::{Context, Result, bail};
use pulldown_cmark::{Event, Options, Parser, TagEnd};

use crate::{links, speaker::say};

const DIRECTORY: &str = "docs/src/decisions";
/// The page that only introduces the others.
const INTRODUCTION: &str = "README.md";
/// How many words a page has, tables and code included.
const WORDS: RangeInclusive<usize> = 150..=600;

/// Checks all decision pages below `root`, and returns how many there are.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in links::find_pages(&root.join(DIRECTORY))? {
        if path.ends_with(INTRODUCTION) {
            continue;
        }
        count += 1;
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let words = words(&text);
        if !WORDS.contains(&words) {
            wrong.push(format!("{}: {words} words", path.display()));
        }
    }
    if !wrong.is_empty() {
        let (least, most) = WORDS.into_inner();
        bail!(
            "a decision takes {least} to {most} words; a shorter one belongs to another page:\n{}",
            wrong.join("\n")
        );
    }
    say!("checked the lengths of {count} decisions");
    Ok(count)
}

/// Returns the number of words that a reader sees.
fn words(text: &str) -> usize {
    let mut seen = String::new();
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Text(text) | Event::Code(text) => seen.push_str(&text),
            Event::SoftBreak
            | Event::HardBreak
            | Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell,
            ) => seen.push(' '),
            _ => {}
        }
    }
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    seen.split_whitespace().filter(is_word).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_reader_sees_counts() {
        assert_eq!(
            words("# One *two*\n\n**Three**-four. [five](six.md) `seven`\n"),
            5
        );
        assert_eq!(
            words("| a | b |\n| --- | --- |\n| <!-- c -->1.5 ns | - |\n"),
            4
        );
        assert_eq!(words(""), 0);
    }
}
