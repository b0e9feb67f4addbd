//! A trace in the format of Chrome, as pool-std writes it.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A row: the number of a pool and that of a worker, from 1 on. Zero stands for threads outside.
pub(super) type Row = (u32, usize);

/// Times have three digits below the microsecond, which floating point rounds.
const ROUNDING: f64 = 2e-6;

/// What a file says. Times are in milliseconds from its first event on.
pub(super) struct TraceFile {
    /// The name of each row that has a slice.
    pub(super) rows: BTreeMap<Row, String>,
    pub(super) slices: Vec<Slice>,
    pub(super) arrows: Vec<Arrow>,
    /// From when to when it tells what was done: to the end of the last slice, if it is whole.
    pub(super) begin: f64,
    pub(super) end: f64,
    overwritten: u64,
}

/// What a worker did for a while.
pub(super) struct Slice {
    pub(super) row: Row,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) begin: f64,
    pub(super) end: f64,
    /// How many others it is inside of.
    pub(super) depth: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Job,
    /// A part of a job to which the program has given a name.
    Part,
    /// Any other.
    State,
}

impl Kind {
    fn of(category: &str) -> Self {
        match category {
            "job" => Self::Job,
            "label" => Self::Part,
            _ => Self::State,
        }
    }
}

/// A steal or a wake-up.
pub(super) struct Arrow {
    pub(super) is_steal: bool,
    pub(super) from: (Row, f64),
    pub(super) to: (Row, f64),
}

#[derive(Deserialize)]
struct Json {
    #[serde(rename = "traceEvents")]
    events: Vec<Event>,
    #[serde(rename = "otherData")]
    other: Other,
}

#[derive(Deserialize)]
struct Other {
    overwritten: u64,
}

#[derive(Deserialize)]
struct Event {
    ph: String,
    name: String,
    pid: u32,
    tid: usize,
    #[serde(default)]
    cat: String,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    id: u64,
    #[serde(default)]
    args: serde_json::Map<String, serde_json::Value>,
}

impl TraceFile {
    pub(super) fn read(file: &Path) -> Result<Self> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        Self::parse(&text).with_context(|| file.display().to_string())
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let json: Json = serde_json::from_str(text).context("not a trace in Chrome's format")?;
        let is_timed = |event: &&Event| event.ph == "X";
        let slices = json.events.iter().filter(is_timed);
        let first = slices.map(|event| event.ts).fold(f64::INFINITY, f64::min);
        let milliseconds = |time: f64| (time - first) / 1_000.0;
        let mut names = BTreeMap::new();
        let is_pool = |event: &&Event| event.name == "process_name";
        let has_pools = json.events.iter().filter(is_pool).count() > 1;
        let (mut slices, mut begins, mut arrows) = (Vec::new(), BTreeMap::new(), Vec::new());
        for event in json.events {
            let row = (event.pid, event.tid);
            let at = milliseconds(event.ts);
            match &*event.ph {
                "M" if event.name == "thread_name" => {
                    let name = if has_pools {
                        format!("pool {}: {}", event.pid, named(&event))
                    } else {
                        named(&event)
                    };
                    names.insert(row, name);
                }
                "X" => slices.push(Slice {
                    row,
                    name: event.name,
                    kind: Kind::of(&event.cat),
                    begin: at,
                    end: at + event.dur / 1_000.0,
                    depth: 0,
                }),
                "s" => _ = begins.insert(event.id, (row, at)),
                "f" => {
                    let from = begins
                        .remove(&event.id)
                        .context("an arrow without a begin")?;
                    let (is_steal, to) = (event.name == "steal", (row, at));
                    arrows.push(Arrow { is_steal, from, to });
                }
                _ => {}
            }
        }
        note_depths(&mut slices);
        let end = slices.iter().map(|slice| slice.end).fold(0.0, f64::max);
        let is_used = |row: &Row| slices.iter().any(|slice| slice.row == *row);
        let rows = names.into_iter().filter(|(row, _)| is_used(row)).collect();
        Ok(Self {
            rows,
            slices,
            arrows,
            begin: 0.0,
            end,
            overwritten: json.other.overwritten,
        })
    }

    /// Returns the part of the trace between two moments. Every row stays.
    ///
    /// # Errors
    /// If the trace has nothing there.
    pub(super) fn between(mut self, from: f64, to: f64) -> Result<Self> {
        let (begin, end) = (from.max(self.begin), to.min(self.end));
        ensure!(
            begin < end,
            "the trace has nothing between {begin} and {end} ms; it ends at {} ms",
            self.end
        );
        self.slices
            .retain(|slice| slice.end >= begin && slice.begin <= end);
        for slice in &mut self.slices {
            slice.begin = slice.begin.max(begin);
            slice.end = slice.end.min(end);
        }
        self.arrows
            .retain(|arrow| arrow.to.1 >= begin && arrow.from.1 <= end);
        Ok(Self { begin, end, ..self })
    }

    /// Returns what the trace has, in one line.
    pub(super) fn summary(&self) -> String {
        let jobs = self
            .slices
            .iter()
            .filter(|slice| slice.kind == Kind::Job)
            .count();
        let steals = self.arrows.iter().filter(|arrow| arrow.is_steal).count();
        let wakes = self.arrows.len() - steals;
        let (time, overwritten) = (self.end - self.begin, self.overwritten);
        format!(
            "{time:.1} ms; jobs: {jobs}, steals: {steals}, wake-ups: {wakes}, older events that were \
             overwritten: {overwritten}"
        )
    }
}

/// Returns the name that an event gives to a pool or a row.
fn named(event: &Event) -> String {
    let name = event.args.get("name").and_then(|name| name.as_str());
    name.unwrap_or_default().to_owned()
}

/// Sorts slices by row and begin, and notes how many others each is inside of.
fn note_depths(slices: &mut [Slice]) {
    slices.sort_by(|a, b| {
        let begins = a.row.cmp(&b.row).then(a.begin.total_cmp(&b.begin));
        begins.then(b.end.total_cmp(&a.end))
    });
    let mut around: Vec<(Row, f64)> = Vec::new();
    for slice in slices {
        while around
            .last()
            .is_some_and(|&(row, end)| row != slice.row || end <= slice.begin + ROUNDING)
        {
            around.pop();
        }
        slice.depth = around.len();
        around.push((slice.row, slice.end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_slices_arrows_and_names() {
        let text = r#"{"otherData":{"overwritten":3},"traceEvents":[
            {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker 0"}},
            {"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"worker 1"}},
            {"ph":"X","name":"main","cat":"job","pid":1,"tid":1,"ts":1000,"dur":4000,"args":{}},
            {"ph":"X","name":"asleep","cat":"state","pid":1,"tid":1,"ts":2000,"dur":500,"args":{}},
            {"ph":"s","name":"steal","id":1,"cat":"steal","pid":1,"tid":1,"ts":1500},
            {"ph":"f","name":"steal","id":1,"cat":"steal","bp":"e","pid":1,"tid":1,"ts":2500}]}"#;
        let trace = TraceFile::parse(text).unwrap();
        assert_eq!(trace.rows.len(), 1, "a row without slices is not shown");
        assert_eq!(trace.end, 4.0);
        let depths: Vec<_> = trace.slices.iter().map(|slice| slice.depth).collect();
        assert_eq!(depths, [0, 1]);
        assert_eq!(trace.arrows[0].from, ((1, 1), 0.5));
        assert_eq!(trace.arrows[0].to, ((1, 1), 1.5));
        let summary =
            "4.0 ms; jobs: 1, steals: 1, wake-ups: 0, older events that were overwritten: 3";
        assert_eq!(trace.summary(), summary);
    }

    #[test]
    fn a_part_has_what_was_done_in_it() {
        let text = r#"{"otherData":{"overwritten":0},"traceEvents":[
            {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"worker 0"}},
            {"ph":"X","name":"main","cat":"job","pid":1,"tid":1,"ts":1000,"dur":4000,"args":{}},
            {"ph":"X","name":"asleep","cat":"state","pid":1,"tid":1,"ts":2000,"dur":500,"args":{}},
            {"ph":"s","name":"wake","id":1,"cat":"wake","pid":1,"tid":1,"ts":1500},
            {"ph":"f","name":"wake","id":1,"cat":"wake","bp":"e","pid":1,"tid":1,"ts":2500}]}"#;
        let part = |from, to| TraceFile::parse(text).unwrap().between(from, to);
        let summary = |from, to| part(from, to).unwrap().summary();
        assert!(summary(1.25, 2.0).starts_with("0.8 ms; jobs: 1, steals: 0, wake-ups: 1,"));
        assert!(
            summary(2.0, f64::INFINITY).starts_with("2.0 ms; jobs: 1, steals: 0, wake-ups: 0,")
        );
        let slices = part(1.25, 2.0).unwrap().slices;
        let slices: Vec<_> = slices
            .iter()
            .map(|slice| (slice.begin, slice.end))
            .collect();
        assert_eq!(slices, [(1.25, 2.0), (1.25, 1.5)]);
        let error = part(5.0, 7.0).err().unwrap().to_string();
        assert!(error.contains("it ends at 4 ms"), "{error}");
    }

    #[test]
    fn an_arrow_without_a_begin_is_an_error() {
        let text = r#"{"otherData":{"overwritten":0},"traceEvents":[
            {"ph":"f","name":"steal","id":1,"pid":1,"tid":1,"ts":2500}]}"#;
        assert!(TraceFile::parse(text).is_err());
    }
}
