//! The places in the sources of a crate that order something.

use std::{fs, ops::Range, path::Path, sync::LazyLock};

use anyhow::{Context as _, Result};
use regex::Regex;

use crate::links;

/// A fence, or an ordering of an access that orders something.
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    let fence = r"(?<fence>\b(full_)?fence\((Ordering::\w+)?\))";
    // The two sides of an `AsymmetricFence`.
    let light = r"(?<light>\b(\w+::)+light\(\))";
    let heavy = r"(?<heavy>\b(\w+::)+heavy\(\)|\(\w+\.heavy\)\(\))";
    let ordering = r"Ordering::(?<ordering>AcqRel|Acquire|Release|SeqCst)\b";
    Regex::new(&format!("{fence}|{light}|{heavy}|{ordering}")).expect("it is one")
});
static FUNCTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bfn (?<name>\w+)").expect("it is one"));

/// A place, and what it is replaced by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    /// Its file, function, and what is changed. It stays the same when lines move.
    pub(super) name: String,
    pub(super) package: String,
    /// Relative to the workspace.
    pub(super) file: String,
    range: Range<usize>,
    replacement: String,
}

impl Site {
    /// Finds all places in the sources of a crate, except its tests and its seam for atomics.
    pub(super) fn all_in(root: &Path, package: &str) -> Result<Vec<Self>> {
        let source = root.join(package).join("src");
        let mut files = links::find_files(&source, ".rs")?;
        files.sort();
        let mut sites = Vec::new();
        for path in files {
            let file = path
                .strip_prefix(root)?
                .to_str()
                .context("a path that is text")?;
            let is_code = |part: &str| {
                !matches!(
                    part,
                    "tests" | "testing" | "tests.rs" | "testing.rs" | "primitive.rs"
                )
            };
            if file.split('/').all(is_code) {
                sites.extend(Self::all_of(package, file, &fs::read_to_string(&path)?));
            }
        }
        Ok(sites)
    }

    /// Finds all places in one file.
    pub(super) fn all_of(package: &str, file: &str, text: &str) -> Vec<Self> {
        let mut sites: Vec<Self> = Vec::new();
        let mut function = "";
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            let begin = end;
            end += line.len();
            let code = line.split("//").next().unwrap_or_default();
            if code.starts_with("mod tests {") {
                break;
            }
            if let Some(found) = FUNCTION.captures(code).and_then(|it| it.name("name")) {
                function = found.as_str();
            }
            if code.contains("fn full_fence") {
                continue;
            }
            for found in PLACES.captures_iter(code) {
                for (range, what, replacement) in changes(&found) {
                    let name = format!("{file}, {function}, {what}");
                    let same = sites
                        .iter()
                        .filter(|site| site.name.starts_with(&name))
                        .count();
                    let name = match same {
                        0 => name,
                        _ => format!("{name} ({})", same + 1),
                    };
                    sites.push(Self {
                        name,
                        package: package.to_owned(),
                        file: file.to_owned(),
                        range: begin + range.start..begin + range.end,
                        replacement: replacement.to_owned(),
                    });
                }
            }
        }
        sites
    }

    /// Returns the path of the module in which the place is, and those of the modules around it.
    /// Their tests find the change, more likely than not.
    pub(super) fn modules(&self) -> Vec<String> {
        let file = self.file.strip_prefix(&self.package).unwrap_or(&self.file);
        let file = file.trim_start_matches("/src/").trim_end_matches(".rs");
        let parts: Vec<_> = file.split('/').collect();
        let ends = (1..=parts.len()).rev();
        ends.map(|end| parts[..end].join("::")).collect()
    }

    /// Returns the text of the file with the change.
    pub(super) fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        text.replace_range(self.range.clone(), &self.replacement);
        text
    }
}

/// Returns what a place may be changed into: a fence is left out, an ordering is relaxed, and one
/// that does two things does only one.
fn changes(found: &regex::Captures<'_>) -> Vec<(Range<usize>, &'static str, &'static str)> {
    let fences = [
        ("fence", "no fence", "()"),
        ("light", "no light fence", "()"),
        // As if there had been one.
        ("heavy", "no heavy fence", "true"),
    ];
    for (group, what, replacement) in fences {
        if let Some(fence) = found.name(group) {
            return vec![(fence.range(), what, replacement)];
        }
    }
    let ordering = found.name("ordering").expect("it is one of these");
    let to: &[_] = match ordering.as_str() {
        "AcqRel" => &[
            ("AcqRel to Acquire", "Acquire"),
            ("AcqRel to Release", "Release"),
        ],
        "Acquire" => &[("Acquire to Relaxed", "Relaxed")],
        "Release" => &[("Release to Relaxed", "Relaxed")],
        _ => &[("SeqCst to AcqRel", "AcqRel")],
    };
    to.iter()
        .map(|&(what, to)| (ordering.range(), what, to))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
fn set(&self) {
    // Ordering: Release; see Ordering::Acquire.
    self.0.swap(1, Ordering::AcqRel);
    fence(Ordering::SeqCst);
    self.0.load(Ordering::Relaxed);
}
fn get(&self) {
    (self.0.load(Ordering::Acquire), self.1.load(Ordering::Acquire))
}
";

    /// Reproduces a bug: the fences of progress, which are asymmetric, were in no table.
    #[test]
    fn finds_both_sides_of_asymmetric_fences() {
        let text = "\
fn lead() {
    D::Fence::light();
    if !D::Fence::heavy() || !(fence.heavy)() {
        return;
    }
}
fn heavy() -> bool {
    true
}
";
        let sites = Site::all_of("core", "a.rs", text);
        let names: Vec<_> = sites.iter().map(|site| &*site.name).collect();
        let expected = [
            "a.rs, lead, no light fence",
            "a.rs, lead, no heavy fence",
            "a.rs, lead, no heavy fence (2)",
        ];
        assert_eq!(names, expected);
        let changed = sites[0].apply(text);
        assert!(changed.contains("    ();\n"), "{changed}");
        let changed = sites[1].apply(text);
        assert!(
            changed.contains("if !true || !(fence.heavy)()"),
            "{changed}"
        );
        let changed = sites[2].apply(text);
        assert!(
            changed.contains("if !D::Fence::heavy() || !true {"),
            "{changed}"
        );
    }

    /// Reproduces a bug: below that function, another part of the file was changed.
    #[test]
    fn a_place_below_the_fence_itself_is_changed() {
        let text = "\
fn full_fence() {
    fence(Ordering::SeqCst);
}
fn get() {
    fence(Ordering::SeqCst);
}
";
        let sites = Site::all_of("core", "a.rs", text);
        let in_get = sites.iter().find(|site| site.name.contains("get"));
        let changed = in_get.unwrap().apply(text);
        assert!(changed.ends_with("fn get() {\n    ();\n}\n"), "{changed}");
    }

    #[test]
    fn finds_all_places_and_names_them() {
        let sites = Site::all_of("core", "a.rs", TEXT);
        let names: Vec<_> = sites.iter().map(|site| &*site.name).collect();
        let expected = [
            "a.rs, set, AcqRel to Acquire",
            "a.rs, set, AcqRel to Release",
            "a.rs, set, no fence",
            "a.rs, get, Acquire to Relaxed",
            "a.rs, get, Acquire to Relaxed (2)",
        ];
        assert_eq!(names, expected);
        let changed = sites[1].apply(TEXT);
        assert!(changed.contains("swap(1, Ordering::Release);"), "{changed}");
        let changed = sites[2].apply(TEXT);
        assert!(changed.contains("    ();\n"), "{changed}");
    }
}
