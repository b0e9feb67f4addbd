//! What each worker did for how long, as text.

use std::{collections::BTreeMap, fmt::Write as _};

use super::file::{Kind, Row, TraceFile};

/// What one worker did, in milliseconds.
#[derive(Default)]
struct Shares {
    runs: f64,
    searches: f64,
    sleeps: f64,
    is_blocked: f64,
}

impl Shares {
    /// Returns where the time of a slice counts.
    fn of(&mut self, kind: Kind, name: &str) -> &mut f64 {
        match (kind, name) {
            (Kind::State, "searching") => &mut self.searches,
            (Kind::State, "asleep") => &mut self.sleeps,
            (Kind::State, "blocked") => &mut self.is_blocked,
            _ => &mut self.runs,
        }
    }
}

/// Returns a line for each worker: for how long it ran jobs, searched, slept and was blocked, from
/// which workers it has stolen, and who has woken it.
pub(super) fn describe(trace: &TraceFile) -> String {
    let mut rows: BTreeMap<Row, Shares> = BTreeMap::new();
    // The slices that the current one is inside of, of which each lost its time to the next one.
    let mut around: Vec<(Kind, &str)> = Vec::new();
    for slice in &trace.slices {
        let shares = rows.entry(slice.row).or_default();
        around.truncate(slice.depth);
        let time = slice.end - slice.begin;
        if let Some(&(kind, name)) = around.last() {
            *shares.of(kind, name) -= time;
        }
        *shares.of(slice.kind, &slice.name) += time;
        around.push((slice.kind, &slice.name));
    }
    let mut text = String::new();
    // The row of threads outside the pool has no states.
    for (row, shares) in rows.iter().filter(|(row, _)| row.1 != 0) {
        let Shares {
            runs,
            searches,
            sleeps,
            is_blocked,
        } = shares;
        // Writing to a string does not fail.
        _ = write!(
            text,
            "{}: runs {runs:.1} ms, searches {searches:.1} ms, sleeps {sleeps:.1} ms",
            name(trace, *row)
        );
        if *is_blocked > 0.0 {
            _ = write!(text, ", is blocked {is_blocked:.1} ms");
        }
        for (is_steal, what) in [(true, "steals"), (false, "wake-ups")] {
            let counts = counts(trace, *row, is_steal);
            if !counts.is_empty() {
                _ = write!(text, "; {what}: {}", counts.join(", "));
            }
        }
        text.push('\n');
    }
    text
}

/// Returns how many arrows of a kind come from each row: `3 from worker 1`, or `3 by worker 1`.
fn counts(trace: &TraceFile, row: Row, is_steal: bool) -> Vec<String> {
    let mut by_row: BTreeMap<Row, usize> = BTreeMap::new();
    for arrow in &trace.arrows {
        if arrow.is_steal == is_steal && arrow.to.0 == row {
            *by_row.entry(arrow.from.0).or_default() += 1;
        }
    }
    let word = if is_steal { "from" } else { "by" };
    let counts = by_row
        .into_iter()
        .map(|(from, count)| format!("{count} {word} {}", name(trace, from)));
    counts.collect()
}

fn name(trace: &TraceFile, row: Row) -> &str {
    trace
        .rows
        .get(&row)
        .map_or("a worker without events", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_inside_another_one_takes_its_time() {
        let text = r#"{"otherData":{"overwritten":0},"traceEvents":[
            {"ph":"M","name":"thread_name","pid":1,"tid":0,"args":{"name":"outside"}},
            {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker 0"}},
            {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker 1"}},
            {"ph":"X","name":"main","cat":"job","pid":1,"tid":1,"ts":1000,"dur":4000,"args":{}},
            {"ph":"X","name":"read","cat":"label","pid":1,"tid":1,"ts":1000,"dur":2000,"args":{}},
            {"ph":"X","name":"asleep","cat":"state","pid":1,"tid":1,"ts":2000,"dur":500,"args":{}},
            {"ph":"X","name":"wakes a worker","cat":"state","pid":1,"tid":0,"ts":1000,"dur":9,"args":{}},
            {"ph":"X","name":"searching","cat":"state","pid":1,"tid":2,"ts":1000,"dur":700,"args":{}},
            {"ph":"X","name":"part","cat":"job","pid":1,"tid":2,"ts":1700,"dur":300,"args":{}},
            {"ph":"s","name":"steal","id":1,"cat":"steal","pid":1,"tid":1,"ts":1500},
            {"ph":"f","name":"steal","id":1,"cat":"steal","bp":"e","pid":1,"tid":2,"ts":1700},
            {"ph":"s","name":"wake","id":2,"cat":"wake","pid":1,"tid":0,"ts":1500},
            {"ph":"f","name":"wake","id":2,"cat":"wake","bp":"e","pid":1,"tid":1,"ts":2500}]}"#;
        assert_eq!(
            describe(&TraceFile::parse(text).unwrap()),
            "worker 0: runs 3.5 ms, searches 0.0 ms, sleeps 0.5 ms; wake-ups: 1 by outside\n\
             worker 1: runs 0.3 ms, searches 0.7 ms, sleeps 0.0 ms; steals: 1 from worker 0\n"
        );
    }
}
