//! `cargo xtask test-all`: runs lanes, several at once, and reports.
//!
//! Many lanes leave a processor idle: they wait for a compiler of a single crate, or run tests that
//! sleep. More of them at once would be done earlier, but a test that measures time fails when too
//! many programs run beside it. So beside a few such lanes runs one whose tests do not depend on
//! time, with a lower priority.

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
    lanes::{BACKGROUND_LANES, DEEP_LANES, LANES, Lane, gaps},
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

    /// Run as many lanes at a time, and from two on one more in the background
    #[arg(long, value_name = "LANES", default_value = "2")]
    at_once: NonZeroUsize,
}

/// The lanes to run, in their order.
struct Lanes {
    foreground: Vec<&'static Lane>,
    background: Vec<&'static Lane>,
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
    let lanes = Lanes::chosen(&arguments.only, arguments.deep);
    if arguments.list {
        for lane in lanes.all() {
            println!("{:13} {}", lane.name, lane.about);
        }
        return Ok(ExitCode::SUCCESS);
    }

    let stopwatch = Stopwatch::start();
    let reports = lanes.run(arguments.quick, arguments.at_once);
    println!();
    for report in &reports {
        println!("{}", report.text);
    }
    let passed = reports.iter().filter(|report| report.has_passed).count();
    let failed = reports.len() - passed;
    for gap in lanes.all().flat_map(|lane| gaps(lane.name)) {
        println!("not tested on this machine: {gap}");
    }
    println!("{passed} passed, {failed} failed ({})", stopwatch.read());
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

impl Lanes {
    /// Returns those that were asked for, or all lanes, the deep ones only if `deep` says so.
    fn chosen(only: &[&'static Lane], deep: bool) -> Self {
        let is_chosen =
            |lane: &&Lane| only.is_empty() || only.iter().any(|chosen| chosen.name == lane.name);
        let deep = DEEP_LANES.iter().filter(|_| deep || !only.is_empty());
        Self {
            foreground: LANES.iter().chain(deep).filter(is_chosen).collect(),
            background: BACKGROUND_LANES.iter().filter(is_chosen).collect(),
        }
    }

    fn all(&self) -> impl Iterator<Item = &'static Lane> {
        self.background.iter().chain(&self.foreground).copied()
    }

    /// Runs the lanes, as many at once as may, and returns their reports in the order of the lanes.
    fn run(&self, quick: bool, at_once: NonZeroUsize) -> Vec<Report> {
        let count = self.all().count();
        let are_several = at_once.get().min(count) > 1;
        let run = |(position, lane): (usize, &'static Lane)| {
            if are_several {
                Speaker::Lane(lane.name).speak();
            }
            let (has_passed, text) = run_one(lane, quick);
            Report {
                position,
                has_passed,
                text,
            }
        };
        let mut waiting: Vec<_> = self.all().enumerate().collect();
        let foreground = Mutex::new(waiting.split_off(self.background.len()).into_iter());
        let background = Mutex::new(waiting.into_iter());
        let reports = Mutex::new(Vec::new());
        let run_each = |next: &dyn Fn() -> Option<(usize, &'static Lane)>| {
            while let Some(lane) = next() {
                let report = run(lane);
                lock(&reports).push(report);
            }
        };
        let next_in_background = || lock(&background).next();
        thread::scope(|threads| {
            if are_several {
                threads.spawn(|| {
                    give_way();
                    run_each(&next_in_background);
                });
            }
            for _ in 0..at_once.get().min(count) {
                threads.spawn(|| {
                    run_each(&|| {
                        let next = lock(&foreground).next();
                        next.or_else(next_in_background)
                    });
                });
            }
        });
        let mut reports = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        reports.sort_by_key(|report| report.position);
        reports
    }
}

/// Lowers the priority of this thread, and of the programs that it starts from now on.
#[cfg(target_os = "linux")]
fn give_way() {
    /// A program with the usual priority gets nine times the processor time of one with this.
    const NICENESS: i32 = 10;
    // A system that refuses makes the lanes slower, but no result wrong.
    let _ = rustix::process::nice(NICENESS);
}

/// Does nothing: on other systems, a priority is that of a whole process.
#[cfg(not(target_os = "linux"))]
fn give_way() {}

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

fn all_lanes() -> impl Iterator<Item = &'static Lane> {
    BACKGROUND_LANES.iter().chain(LANES).chain(DEEP_LANES)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    #[cfg(target_os = "linux")]
    use crate::command::Step;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: Arguments,
    }

    const fn lane(name: &'static str, run: fn(bool) -> Result<u64>) -> Lane {
        let about = "only for these tests";
        Lane { name, about, run }
    }

    fn lanes(foreground: &'static [Lane], background: &'static [Lane]) -> Lanes {
        Lanes {
            foreground: foreground.iter().collect(),
            background: background.iter().collect(),
        }
    }

    #[test]
    fn reports_all_lanes_in_order_whatever_they_do() {
        static LANES: [Lane; 4] = [
            lane("panics", |_| panic!("on purpose")),
            lane("fails", |_| Err(anyhow!("no\n    reason"))),
            lane("passes", |_| Ok(3)),
            lane("is-quick", |quick| Ok(u64::from(quick))),
        ];
        let (background, foreground) = LANES.split_at(1);
        let lanes = lanes(foreground, background);
        for at_once in 1..=5 {
            let reports = lanes.run(true, NonZeroUsize::new(at_once).unwrap());
            let has_passed: Vec<_> = reports.iter().map(|report| report.has_passed).collect();
            assert_eq!(has_passed, [false, false, true, true]);
            let expected = [
                ("lane panics: FAIL (", ": it panicked"),
                ("lane fails: FAIL (", ": no\n    reason"),
                ("lane passes: PASS (3 tests, ", ")"),
                ("lane is-quick: PASS (1 tests, ", ")"),
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
        for in_background in 0..=2 {
            let (background, foreground) = LANES.split_at(in_background);
            let lanes = lanes(foreground, background);
            let reports = lanes.run(false, NonZeroUsize::new(2).unwrap());
            assert!(reports.iter().all(|report| report.has_passed));
        }
    }

    /// Its programs must not take a processor from a test that measures time.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_thread_that_gives_way_starts_programs_of_a_lower_priority() {
        let niceness = || -> i32 {
            let read = Step::new("nice", &[]).read().unwrap();
            read.trim().parse().unwrap()
        };
        let usual = niceness();
        let in_background = thread::spawn(move || {
            give_way();
            niceness()
        });
        // The system has no lower one than that.
        assert_eq!(in_background.join().unwrap(), (usual + 10).min(19));
        assert_eq!(niceness(), usual);
    }

    fn names(only: &str) -> Result<Vec<&'static str>, String> {
        let parsed = CommandLine::try_parse_from(["test-all", "--only", only]);
        let arguments = parsed.map_err(|error| error.to_string())?.arguments;
        let lanes = Lanes::chosen(&arguments.only, arguments.deep);
        Ok(lanes.all().map(|lane| lane.name).collect())
    }

    /// The workflow has a job for each lane.
    #[test]
    fn the_workflow_has_all_lanes() {
        let file = crate::root().join(".github/workflows/lanes.yml");
        let workflow = std::fs::read_to_string(file).unwrap();
        for lane in BACKGROUND_LANES.iter().chain(LANES) {
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
        let count = |deep| Lanes::chosen(&[], deep).all().count();
        assert_eq!(count(false), BACKGROUND_LANES.len() + LANES.len());
        assert_eq!(count(true), all_lanes().count());
        assert_eq!(names("mutants,lint").unwrap(), ["lint", "mutants"]);
        assert_eq!(names("lint,loom").unwrap(), ["loom", "lint"]);
        let error = names("lomo").unwrap_err();
        assert!(
            error.contains("'lomo'") && error.contains("loom"),
            "{error}"
        );
    }
}
