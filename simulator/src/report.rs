//! The report as text.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    machine::Site,
    simulation::{Outcome, microseconds},
};

/// What was simulated, and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The sleep protocol.
    pub protocol: &'static str,
    /// The idle policy.
    pub policy: &'static str,
    /// The number of workers.
    pub workers: usize,
    /// One for each workload.
    pub outcomes: Vec<Outcome>,
}

/// The columns of the table, with what each of them means.
pub const COLUMNS: &str = "wakes, fruitless wakes, fruitless searches: per job; searching: core-microseconds per job; \
     transfers: cache lines brought to a core, per job; queued: core-microseconds per job in which a line \
     was busy with others; full: microseconds until all workers run; p50, p99: microseconds";

/// Returns a table of all outcomes, in Markdown.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| workload | workers | protocol | policy | wakes | fruitless wakes | fruitless searches | searching \
         | transfers | queued | lines touched | full | p50 | p99 |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let number =
        |value: Option<f64>| value.map_or_else(|| String::from("-"), |value| format!("{value:.1}"));
    let mut lines = Vec::new();
    for row in rows {
        for outcome in &row.outcomes {
            let probe = &outcome.probe;
            let time = |value: Option<u64>| number(value.map(microseconds));
            lines.push((
                outcome.workload,
                row.workers,
                format!(
                    "| {} | {} | {} | {} | {:.2} | {:.2} | {:.1} | {:.1} | {:.1} | {:.1} | {} | {} | {} | {} |",
                    outcome.workload,
                    row.workers,
                    row.protocol,
                    row.policy,
                    outcome.per_job(outcome.counts.wakes),
                    outcome.per_job(outcome.counts.fruitless_wakes),
                    outcome.per_job(outcome.fruitless_searches),
                    outcome.per_job(outcome.idle_ns) / 1_000.0,
                    outcome.per_job(outcome.traffic.transfers),
                    microseconds(outcome.traffic.waited) / outcome.jobs.max(1) as f64,
                    number(probe.mean_lines()),
                    time(probe.full_occupancy),
                    time(probe.percentile(50)),
                    time(probe.percentile(99)),
                ),
            ));
        }
    }
    lines.sort_by_key(|&(workload, workers, _)| (workload, workers));
    for (_, _, line) in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

/// Returns the shared lines and the lines of the source with the most traffic.
#[must_use]
pub fn hot_lines(outcome: &Outcome, count: usize) -> String {
    let mut sources = Sources::default();
    let mut text = String::new();
    for (name, traffic, site) in outcome.lines.iter().take(count) {
        let site = site.map_or_else(String::new, |site| sources.describe(site));
        let _ = writeln!(
            text,
            "  line   {name}: {} transfers, {} of them exclusive, {:.1} us queued; last by {site}",
            traffic.transfers,
            traffic.exclusive,
            microseconds(traffic.waited),
        );
    }
    for (site, traffic) in outcome.sites.iter().take(count) {
        let _ = writeln!(
            text,
            "  source {}: {} transfers, {:.1} us queued, {} shared lines touched",
            sources.describe(site),
            traffic.transfers,
            microseconds(traffic.waited),
            traffic.touched,
        );
    }
    text
}

/// The files of the source, to name the function of a line.
#[derive(Debug, Default)]
struct Sources {
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    /// Returns the function, the file and the line of a site.
    fn describe(&mut self, site: Site) -> String {
        let path = root().join("simulator").join(site.file());
        let lines = self.files.entry(site.file().to_owned()).or_insert_with(|| {
            fs::read_to_string(&path)
                .unwrap_or_default()
                .lines()
                .map(str::to_owned)
                .collect()
        });
        let line = site.line() as usize;
        let name = lines
            .iter()
            .take(line)
            .rev()
            .find_map(|line| function_of(line));
        let file = path
            .strip_prefix(root())
            .unwrap_or(&path)
            .display()
            .to_string();
        format!("`{}` ({file}:{line})", name.unwrap_or("?"))
    }
}

/// Returns the directory of the whole project.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

/// Returns the name of the function that begins in a line.
fn function_of(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let (before, after) = code.split_once("fn ")?;
    let is_declared = before.split_whitespace().all(|word| {
        word.starts_with("pub") || matches!(word, "const" | "unsafe" | "async" | "extern")
    });
    let end = after.find(|character: char| !character.is_alphanumeric() && character != '_')?;
    (is_declared && end > 0).then(|| &after[..end])
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    #[test]
    fn names_the_function_of_a_line() {
        assert_eq!(
            function_of("    pub(crate) unsafe fn claim(&self) {"),
            Some("claim")
        );
        assert_eq!(function_of("fn plain<T>()"), Some("plain"));
        assert_eq!(function_of("// calls the fn claim()"), None);
        assert_eq!(function_of("let fn_pointer = 1;"), None);
        let here = Sources::default().describe(Location::caller());
        assert!(
            here.contains("`names_the_function_of_a_line` (simulator/src/report.rs:"),
            "{here}"
        );
    }
}
