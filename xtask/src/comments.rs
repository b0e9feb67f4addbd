//! Checks that comments in source files are no wider than a page shows.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail};

use crate::{links, speaker::say};

/// The columns of a line, indentation included.
const WIDTH: usize = 100;

/// Checks the comments of all source files below `root`, and returns how many files there are.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let mut wide = Vec::new();
    let files = links::find_files(root, ".rs")?;
    for path in &files {
        let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let lines = wide_lines(&text);
        wide.extend(lines.map(|line| format!("{}:{line}", path.display())));
    }
    if !wide.is_empty() {
        bail!("comments wider than {WIDTH} columns:\n{}", wide.join("\n"));
    }
    say!("checked the width of comments in {} files", files.len());
    Ok(files.len() as u64)
}

/// Returns the numbers of the lines, counted from 1, on which a comment is too wide.
fn wide_lines(text: &str) -> impl Iterator<Item = usize> {
    let numbered = text.lines().zip(1..);
    numbered.filter_map(|(line, number)| {
        let is_comment = line.trim_start().starts_with("//");
        (is_comment && line.chars().count() > WIDTH).then_some(number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_comments_are_found() {
        let word = "x".repeat(WIDTH);
        let fits = format!("// {}\n", &word[3..]);
        let text = format!("{fits}    // {word}\nlet x = 1;\n/// {word}\n//! | {word} |\n");
        assert_eq!(wide_lines(&text).collect::<Vec<_>>(), [2, 4, 5]);
    }
}
