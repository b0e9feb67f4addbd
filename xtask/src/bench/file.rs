//! The results in a file, as JSON, which charts and tables can be made from again.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use protocol::Unit;
use serde::{Deserialize, Serialize};

use super::measure::{Comparison, Summary};

/// A line of the file: the result of one system for one piece of work.
#[derive(Serialize, Deserialize)]
struct Line {
    group: String,
    name: String,
    threads: usize,
    system: String,
    unit: Unit,
    /// Absent from older files: as is usual for the unit.
    more_is_better: Option<bool>,
    median: f64,
    min: f64,
    max: f64,
    n: usize,
}

/// Writes the results to a file. What is missing is left out.
pub(super) fn write(comparisons: &[Comparison], file: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for comparison in comparisons {
        for (system, result) in &comparison.systems {
            let Ok(summary) = result else { continue };
            lines.push(Line {
                group: comparison.group.clone(),
                name: comparison.name.clone(),
                threads: comparison.threads,
                system: system.clone(),
                unit: comparison.unit,
                more_is_better: Some(comparison.more_is_better),
                median: summary.median,
                min: summary.min,
                max: summary.max,
                n: summary.n,
            });
        }
    }
    let text = serde_json::to_string_pretty(&lines)?;
    fs::write(file, text + "\n").with_context(|| file.display().to_string())
}

/// Reads the results that [`write()`] has written.
pub(super) fn read(file: &Path) -> Result<Vec<Comparison>> {
    let read = || -> Result<Vec<Comparison>> {
        let lines: Vec<Line> = serde_json::from_str(&fs::read_to_string(file)?)?;
        ensure!(!lines.is_empty(), "no results");
        let same = |one: &Line, next: &Line| {
            (&one.group, &one.name, one.threads) == (&next.group, &next.name, next.threads)
        };
        Ok(lines.chunk_by(same).map(comparison).collect())
    };
    read().with_context(|| file.display().to_string())
}

/// Returns the comparison that at least one line is about.
fn comparison(lines: &[Line]) -> Comparison {
    let first = &lines[0];
    let systems = lines.iter().map(|line| {
        let summary = Summary {
            median: line.median,
            min: line.min,
            max: line.max,
            n: line.n,
        };
        (line.system.clone(), Ok(summary))
    });
    Comparison {
        group: first.group.clone(),
        name: first.name.clone(),
        threads: first.threads,
        unit: first.unit,
        more_is_better: first
            .more_is_better
            .unwrap_or_else(|| first.unit.more_is_better()),
        systems: systems.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let summary = |median| Summary {
            median,
            min: 0.5,
            max: 9.0,
            n: 3,
        };
        let comparison = |name: &str, unit: Unit, more_is_better| Comparison {
            group: "protocols".to_owned(),
            name: name.to_owned(),
            threads: 2,
            unit,
            more_is_better,
            systems: vec![
                ("ours".to_owned(), Ok(summary(1.0))),
                ("ours-classic".to_owned(), Ok(summary(2.0))),
                ("absent".to_owned(), Err("why".to_owned())),
            ],
        };
        let written = [
            comparison("tree", Unit::Nanoseconds, false),
            comparison("hits", Unit::Nanoseconds, true),
        ];
        let file = std::env::temp_dir().join(format!("xtask-results-{}.json", std::process::id()));
        write(&written, &file).unwrap();
        let read_back = read(&file).unwrap();
        assert_eq!(read_back.len(), written.len());
        for (read, written) in read_back.iter().zip(&written) {
            assert_eq!((&read.group, &read.name), (&written.group, &written.name));
            assert_eq!((read.threads, read.unit), (written.threads, written.unit));
            assert_eq!(read.more_is_better, written.more_is_better);
            assert_eq!(read.systems, written.systems[..2]);
        }
        for wrong in ["", "[]", "[{}]"] {
            fs::write(&file, wrong).unwrap();
            let error = read(&file).err().expect("these are no results");
            assert!(error.to_string().contains("xtask-results"), "{error}");
        }
        fs::remove_file(&file).unwrap();
        assert!(read(&file).is_err());
    }
}
