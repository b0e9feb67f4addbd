//! Figures: measured numbers that pages show. Each one stands in one place, which the command that
//! measures writes, and has a name. Other pages show it between two comments, which a reader of the
//! page does not see:
//!
//! ```text
//! A join takes <!-- figure: callgrind.join.ours -->65.9<!-- /figure --> instructions.
//! ```
//!
//! The lane `docs` compares them, and `cargo xtask figures` writes them anew. A whole table stands
//! between the comments `<!-- table: NAME -->` and `<!-- /table -->`.

mod page;
mod results;
mod sizes;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};

use crate::{links, mutants, rayon, root, speaker::say};
pub(crate) use sizes::Size;

/// Where the commands keep what they have measured, except for the tables of [`BENCHMARKS`].
const DIRECTORY: &str = "docs/figures";
/// The page with the tables of `cargo xtask bench`.
const BENCHMARKS: &str = "docs/benchmarks.md";
/// What `cargo xtask bench --callgrind --keep` has counted.
const CALLGRIND: &str = "callgrind";
/// What `cargo xtask size --keep` has measured.
const SIZES: &str = "sizes";

/// Pages of results, whose numbers need no names. The changelog tells what was measured then.
const PAGES_OF_RESULTS: [&str; 4] = [
    BENCHMARKS,
    "docs/src/simulator.md",
    "docs/src/sizes.md",
    "CHANGELOG.md",
];

/// All figures by their names, and all tables.
#[derive(Default)]
struct Figures {
    figures: BTreeMap<String, String>,
    tables: BTreeMap<String, String>,
}

impl Figures {
    /// Reads what the commands have written below `root`.
    fn read(root: &Path) -> Result<Self> {
        let mut this = Self::default();
        let benchmarks = fs::read_to_string(root.join(BENCHMARKS)).context(BENCHMARKS)?;
        this.figures = results::figures(&benchmarks);
        this.tables = results::tables(&benchmarks);
        let counts: BTreeMap<String, f64> = read(root, CALLGRIND)?;
        for (name, count) in counts {
            let name = format!("{CALLGRIND}.{name}");
            this.figures.insert(name, format!("{count:.1}"));
        }
        let packages = rayon::packages().to_string();
        this.figures.insert("rayon.packages".to_owned(), packages);
        for (name, count) in mutants::counts(root)? {
            let name = format!("mutants.{name}");
            this.figures.insert(name, count.to_string());
        }
        let sizes: Vec<Size> = read(root, SIZES)?;
        this.tables.insert(SIZES.to_owned(), sizes::table(&sizes));
        this.figures.extend(sizes::figures(&sizes));
        Ok(this)
    }

    /// Whether a number of instructions, as a page shows it, was counted.
    fn is_counted(&self, number: &str) -> bool {
        let mut counts = self
            .figures
            .iter()
            .filter(|(name, _)| name.starts_with(CALLGRIND));
        counts.any(|(_, count)| count == number)
    }
}

/// Writes all figures on all pages anew, and checks what is left.
pub(crate) fn run() -> Result<ExitCode> {
    let root = root();
    let figures = Figures::read(&root)?;
    for (path, text) in pages(&root)? {
        let written = page::rewrite(&text, &figures);
        if written != text {
            fs::write(&path, written)?;
            println!("{}", path.display());
        }
    }
    check(&root)?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the figures on all pages below `root`, and returns how many there are.
pub(crate) fn check(root: &Path) -> Result<u64> {
    let figures = Figures::read(root)?;
    let mut count = 0;
    let mut wrong = Vec::new();
    for (path, text) in pages(root)? {
        let relative = path.strip_prefix(root)?;
        count += page::count(&text);
        let has_results = PAGES_OF_RESULTS
            .iter()
            .any(|page| relative == Path::new(page));
        let mut errors = page::wrong_figures(&text, &figures);
        errors.extend(
            page::wrong_counts(&text, &figures).filter(|_| !relative.ends_with("CHANGELOG.md")),
        );
        errors.extend(page::typed_figures(&text).filter(|_| !has_results));
        for (line, error) in errors {
            wrong.push(format!("{}:{line}: {error}", relative.display()));
        }
    }
    if !wrong.is_empty() {
        bail!("figures, see `cargo xtask figures`:\n{}", wrong.join("\n"));
    }
    say!("checked {count} figures");
    Ok(count)
}

/// Keeps what was counted by callgrind, for [`Figures::read`].
pub(crate) fn keep_counts(counts: &BTreeMap<String, f64>) -> Result<()> {
    write(CALLGRIND, counts)
}

/// Keeps the sizes of programs, likewise.
pub(crate) fn keep_sizes(sizes: &[Size]) -> Result<()> {
    write(SIZES, sizes)
}

fn write(name: &str, results: &(impl serde::Serialize + ?Sized)) -> Result<()> {
    let file = file(&root(), name);
    let text = serde_json::to_string_pretty(results)? + "\n";
    fs::write(&file, text).with_context(|| file.display().to_string())
}

fn read<T: serde::de::DeserializeOwned>(root: &Path, name: &str) -> Result<T> {
    let file = file(root, name);
    let read = || -> Result<T> { Ok(serde_json::from_str(&fs::read_to_string(&file)?)?) };
    read().with_context(|| file.display().to_string())
}

fn file(root: &Path, name: &str) -> PathBuf {
    root.join(DIRECTORY).join(format!("{name}.json"))
}

fn pages(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut pages = Vec::new();
    for path in links::find_pages(root)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        pages.push((path, text));
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_this_repository_are_read() {
        let figures = Figures::read(&root()).unwrap();
        for name in [
            "callgrind.join.ours",
            "bench.join.fib32.1.ours",
            "bench.join.fib32.2.rayon-core.ratio",
            "bench.apps.mean",
        ] {
            assert!(figures.figures.contains_key(name), "{name}");
        }
        assert!(figures.tables[SIZES].contains("| thumbv6m-none-eabi |"));
    }

    #[test]
    fn only_counted_numbers_of_instructions_are_counted() {
        let mut figures = Figures::default();
        let mut insert = |name: &str, text: &str| figures.figures.insert(name.into(), text.into());
        insert("callgrind.join.ours", "65.9");
        insert("bench.join.tree.1.ours", "5.8");
        assert!(figures.is_counted("65.9"));
        assert!(!figures.is_counted("5.8"));
        assert!(!figures.is_counted("66.8"));
    }
}
