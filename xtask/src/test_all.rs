//! `cargo xtask test-all`: runs lanes, one after the other, and reports.

use std::process::ExitCode;

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::{
    command::Stopwatch,
    lanes::{LANES, Lane},
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List the lanes and what each of them does
    #[arg(long)]
    list: bool,

    /// Run these lanes only
    #[arg(long, value_name = "LANE", value_delimiter = ',', value_parser = lane_parser())]
    only: Vec<&'static Lane>,

    /// Leave out the slow parts of each lane
    #[arg(long)]
    quick: bool,
}

/// Runs the lanes. All of them are run, also after one has failed.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let lanes = chosen(&arguments.only);
    if arguments.list {
        for lane in lanes {
            println!("{:13} {}", lane.name, lane.about);
        }
        return Ok(ExitCode::SUCCESS);
    }

    let mut reports = Vec::new();
    let mut failed = 0;
    for lane in &lanes {
        println!("\n== lane {}: {}", lane.name, lane.about);
        let stopwatch = Stopwatch::start();
        let result = (lane.run)(arguments.quick);
        let time = stopwatch.read();
        let report = match &result {
            Ok(tests) => format!("lane {}: PASS ({tests} tests, {time})", lane.name),
            Err(error) => {
                failed += 1;
                format!("lane {}: FAIL ({time}): {error:#}", lane.name)
            }
        };
        println!("{report}");
        reports.push(report);
    }

    println!();
    for report in reports {
        println!("{report}");
    }
    println!("{} passed, {failed} failed", lanes.len() - failed);
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Parses the name of a lane.
fn lane_parser() -> impl TypedValueParser<Value = &'static Lane> {
    let names = LANES
        .iter()
        .map(|lane| PossibleValue::new(lane.name).help(lane.about));
    PossibleValuesParser::new(names).map(|name| {
        let named = LANES.iter().find(|lane| lane.name == name);
        named.expect("the name is one of the possible values")
    })
}

/// Returns the lanes in their order: those that were asked for, or all.
fn chosen(only: &[&'static Lane]) -> Vec<&'static Lane> {
    let is_chosen =
        |lane: &&Lane| only.is_empty() || only.iter().any(|chosen| chosen.name == lane.name);
    LANES.iter().filter(is_chosen).collect()
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

    fn names(only: &str) -> Result<Vec<&'static str>, String> {
        let parsed = CommandLine::try_parse_from(["test-all", "--only", only]);
        let arguments = parsed.map_err(|error| error.to_string())?.arguments;
        Ok(chosen(&arguments.only)
            .iter()
            .map(|lane| lane.name)
            .collect())
    }

    #[test]
    fn chooses_lanes_by_name() {
        assert_eq!(chosen(&[]).len(), LANES.len());
        assert_eq!(names("loom,lint").unwrap(), ["lint", "loom"]);
        let error = names("lomo").unwrap_err();
        assert!(
            error.contains("'lomo'") && error.contains("loom"),
            "{error}"
        );
    }
}
