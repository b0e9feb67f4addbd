//! Checks that the prose of the project is plain: phrases that readers stumble over, and what to
//! write instead.

use std::{fs, path::Path, sync::LazyLock};

use anyhow::{Context as _, Result, bail};
use regex::Regex;

use crate::{command::Step, speaker::say};

/// Phrases, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    (
        "nobody|somebody|anybody",
        "name the thread, the worker, or the caller",
    ),
    ("whoever", "\"the thread that\""),
    ("but while", "\"only while\""),
    ("(?:is|are) handed on", "\"is forwarded\""),
    ("one a worker", "\"one per worker\""),
    ("(?:the|an) own", "\"its own\""),
    (
        "(?:thread|caller) that is no worker",
        "\"a thread outside the pool\"",
    ),
    ("just as well", "say what happens"),
    ("for ever", "\"forever\""),
    ("for looking on", "\"debug output only\""),
];

/// What is searched. This file has all of the phrases.
const FILES: [&str; 5] = [
    "*.rs",
    "*.md",
    "*.toml",
    "*.litmus",
    ":!xtask/src/phrases.rs",
];

/// Checks all files that git knows, and returns how many there are.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let listed = Step::new("git", &[&["ls-files", "--"], &FILES[..]].concat()).read()?;
    let mut found = Vec::new();
    let mut count = 0;
    for file in listed.lines() {
        let path = root.join(file);
        // A link, or a file that is deleted.
        if !fs::symlink_metadata(&path).is_ok_and(|it| it.is_file()) {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| file.to_owned())?;
        let hits = phrases_in(&text);
        found.extend(
            hits.map(|(line, phrase, instead)| {
                format!("{file}:{line}: `{phrase}`; write {instead}")
            }),
        );
        count += 1;
    }
    if !found.is_empty() {
        bail!("phrases that are not plain:\n{}", found.join("\n"));
    }
    say!("checked the phrases of {count} files");
    Ok(count)
}

/// Returns the lines with each phrase, counted from 1, the phrase and what to write instead.
fn phrases_in(text: &str) -> impl Iterator<Item = (usize, &str, &'static str)> {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let pattern =
            |phrase: &str| Regex::new(&format!(r"(?i-u)\b(?:{phrase})\b")).expect("it is one");
        let patterns = PHRASES
            .iter()
            .map(|(phrase, instead)| (pattern(phrase), *instead));
        patterns.collect()
    });
    PATTERNS.iter().flat_map(move |(pattern, instead)| {
        pattern.find_iter(text).map(move |hit| {
            let line = 1 + text[..hit.start()].matches('\n').count();
            (line, hit.as_str(), *instead)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_phrases_as_whole_words() {
        let text = "Nobody waits.\nThe owner of the own deque\nFor everything, a worker\n";
        let found: Vec<_> = phrases_in(text)
            .map(|(line, phrase, _)| (line, phrase))
            .collect();
        assert_eq!(found, [(1, "Nobody"), (2, "the own")]);
    }
}
