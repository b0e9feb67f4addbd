//! `cargo xtask test-all`: runs lanes, several at once, and reports.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::{Mutex, PoisonError},
    thread,
};

use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::{
    command::{Stopwatch, lock},
    lanes::{DEEP_LANES, LANES, Lane},
    speaker::{Speaker, say},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List the lanes and what each of them does
    #[arg(long)]
    list: bool,

    /// Run these lanes only
    #[arg(long, value_name = "LANE", value_delimiter = ',', value_parser = lane_parser())]
    only: Vec<&'static Lane>,

    /// Run the lanes too that take too long for each change
    #[arg(long)]
    deep: bool,

    /// Leave out the slow parts of each lane
    #[arg(long)]
    quick: bool,

    /// Run as many lanes at a time: no lane keeps two processors busy all the time
    #[arg(long, value_name = "LANES", default_value = "2")]
    at_once: NonZeroUsize,
}

/// The end of a lane.
struct Report {
    /// Where the lane is in the list.
    position: usize,
    has_passed: bool,
    text: String,
}

/// Runs the lanes. All of them are run, also after one has failed.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let lanes = chosen(&arguments.only, arguments.deep);
    if arguments.list {
        for lane in lanes {
            println!("{:13} {}", lane.name, lane.about);
        }
        return Ok(ExitCode::SUCCESS);
    }

    let stopwatch = Stopwatch::start();
    let reports = run_all(&lanes, arguments.quick, arguments.at_once);
    println!();
    for report in &reports {
        println!("{}", report.text);
    }
    let passed = reports.iter().filter(|report| report.has_passed).count();
    let failed = lanes.len() - passed;
    println!("{passed} passed, {failed} failed ({})", stopwatch.read());
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Runs the lanes, as many at once as may, and returns their reports in the order of the lanes.
fn run_all(lanes: &[&'static Lane], quick: bool, at_once: NonZeroUsize) -> Vec<Report> {
    let reports = Mutex::new(Vec::new());
    let next = Mutex::new(lanes.iter().enumerate());
    let runner = || {
        loop {
            let Some((position, lane)) = lock(&next).next() else {
                return;
            };
            if lanes.len().min(at_once.get()) > 1 {
                Speaker::Lane(lane.name).speak();
            }
            let (has_passed, text) = run_one(lane, quick);
            let report = Report {
                position,
                has_passed,
                text,
            };
            lock(&reports).push(report);
        }
    };
    thread::scope(|threads| {
        for _ in 0..at_once.get().min(lanes.len()) {
            threads.spawn(runner);
        }
    });
    let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
    reports.sort_by_key(|report| report.position);
    reports
}

/// Runs a lane. Returns whether it has passed, and what there is to report.
fn run_one(lane: &Lane, quick: bool) -> (bool, String) {
    say!("\n== lane {}: {}", lane.name, lane.about);
    let stopwatch = Stopwatch::start();
    let result = catch_unwind(AssertUnwindSafe(|| (lane.run)(quick)));
    // The panic has printed its message.
    let result = result.unwrap_or_else(|_| Err(anyhow!("it panicked")));
    let time = stopwatch.read();
    let report = match &result {
        Ok(tests) => format!("lane {}: PASS ({tests} tests, {time})", lane.name),
        Err(error) => format!("lane {}: FAIL ({time}): {error:#}", lane.name),
    };
    say!("{report}");
    (result.is_ok(), report)
}

/// Parses the name of a lane.
fn lane_parser() -> impl TypedValueParser<Value = &'static Lane> {
    let names = all_lanes().map(|lane| PossibleValue::new(lane.name).help(lane.about));
    PossibleValuesParser::new(names).map(|name| {
        let named = all_lanes().find(|lane| lane.name == name);
        named.expect("the name is one of the possible values")
    })
}

/// Returns the lanes in their order: those that were asked for, or all of them, the deep ones only
/// if `deep` says so.
fn chosen(only: &[&'static Lane], deep: bool) -> Vec<&'static Lane> {
    if only.is_empty() {
        let deep = DEEP_LANES.iter().filter(|_| deep);
        return LANES.iter().chain(deep).collect();
    }
    let is_chosen = |lane: &&Lane| only.iter().any(|chosen| chosen.name == lane.name);
    all_lanes().filter(is_chosen).collect()
}

fn all_lanes() -> impl Iterator<Item = &'static Lane> {
    LANES.iter().chain(DEEP_LANES)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: Arguments,
    }

    const fn lane(name: &'static str, run: fn(bool) -> Result<u64>) -> Lane {
        let about = "only for these tests";
        Lane { name, about, run }
    }

    #[test]
    fn reports_all_lanes_in_order_whatever_they_do() {
        static LANES: [Lane; 4] = [
            lane("panics", |_| panic!("on purpose")),
            lane("fails", |_| Err(anyhow!("no\n    reason"))),
            lane("passes", |_| Ok(3)),
            lane("is-quick", |quick| Ok(u64::from(quick))),
        ];
        let lanes: Vec<_> = LANES.iter().collect();
        for at_once in 1..=5 {
            let reports = run_all(&lanes, true, NonZeroUsize::new(at_once).unwrap());
            let has_passed: Vec<_> = reports.iter().map(|report| report.has_passed).collect();
            assert_eq!(has_passed, [false, false, true, true]);
            let expected = [
                ("lane panics: FAIL (0 s", ": it panicked"),
                ("lane fails: FAIL (0 s", ": no\n    reason"),
                ("lane passes: PASS (3 tests, 0 s", ")"),
                ("lane is-quick: PASS (1 tests, 0 s", ")"),
            ];
            for (report, (start, end)) in reports.iter().zip(expected) {
                let text = &report.text;
                assert!(text.starts_with(start) && text.ends_with(end), "{text}");
            }
        }
    }

    /// Runs lanes that wait for each other, or never ends.
    #[test]
    fn lanes_run_at_once() {
        static BOTH: std::sync::Barrier = std::sync::Barrier::new(2);
        fn wait(_quick: bool) -> Result<u64> {
            BOTH.wait();
            let here = Speaker::here();
            assert!(here == Speaker::Lane("one") || here == Speaker::Lane("other"));
            Ok(1)
        }
        static LANES: [Lane; 2] = [lane("one", wait), lane("other", wait)];
        let lanes: Vec<_> = LANES.iter().collect();
        let reports = run_all(&lanes, false, NonZeroUsize::new(2).unwrap());
        assert!(reports.iter().all(|report| report.has_passed));
    }

    fn names(only: &str) -> Result<Vec<&'static str>, String> {
        let parsed = CommandLine::try_parse_from(["test-all", "--only", only]);
        let arguments = parsed.map_err(|error| error.to_string())?.arguments;
        Ok(chosen(&arguments.only, arguments.deep)
            .iter()
            .map(|lane| lane.name)
            .collect())
    }

    /// The workflow has a job for each lane.
    #[test]
    fn the_workflow_has_all_lanes() {
        let file = crate::root().join(".github/workflows/lanes.yml");
        let workflow = std::fs::read_to_string(file).unwrap();
        for lane in LANES {
            let line = format!("\n          - {}\n", lane.name);
            assert!(workflow.contains(&line), "{}", lane.name);
        }
        let line = workflow.lines().find(|line| line.contains("lane: ["));
        for lane in DEEP_LANES {
            let is_in_list = line.is_some_and(|line| line.contains(lane.name));
            let has_job = workflow.contains(&format!("--only {}\n", lane.name));
            assert!(is_in_list || has_job, "{}", lane.name);
        }
    }

    #[test]
    fn chooses_lanes_by_name() {
        assert_eq!(chosen(&[], false).len(), LANES.len());
        assert_eq!(chosen(&[], true).len(), all_lanes().count());
        assert_eq!(names("mutants,lint").unwrap(), ["lint", "mutants"]);
        assert_eq!(names("loom,lint").unwrap(), ["lint", "loom"]);
        let error = names("lomo").unwrap_err();
        assert!(
            error.contains("'lomo'") && error.contains("loom"),
            "{error}"
        );
    }
}
