//! `cargo xtask test-all`: runs lanes, one after the other, and reports.

use std::{process::ExitCode, time::Instant};

use anyhow::{Result, bail};

use crate::lanes::{LANES, Lane};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// List the lanes and what each of them does
    #[arg(long)]
    list: bool,

    /// Run these lanes only
    #[arg(long, value_name = "LANE", value_delimiter = ',')]
    only: Vec<String>,

    /// Leave out the slow parts of each lane
    #[arg(long)]
    quick: bool,
}

/// Runs the lanes. All of them are run, also after one has failed.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let lanes = chosen(&arguments.only)?;
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
        let start = Instant::now();
        let result = (lane.run)(arguments.quick);
        let seconds = start.elapsed().as_secs();
        let report = match &result {
            Ok(tests) => format!("lane {}: PASS ({tests} tests, {seconds} s)", lane.name),
            Err(error) => {
                failed += 1;
                format!("lane {}: FAIL ({seconds} s): {error:#}", lane.name)
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

/// The lanes with these names, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Lane>> {
    if names.is_empty() {
        return Ok(LANES.iter().collect());
    }
    for name in names {
        if !LANES.iter().any(|lane| lane.name == name) {
            let known: Vec<_> = LANES.iter().map(|lane| lane.name).collect();
            bail!(
                "there is no lane `{name}`; the lanes are {}",
                known.join(", ")
            );
        }
    }
    Ok(LANES
        .iter()
        .filter(|lane| names.iter().any(|name| name == lane.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_chosen_by_name() {
        let names = |only: &[&str]| {
            let only: Vec<_> = only.iter().map(ToString::to_string).collect();
            chosen(&only).map(|lanes| lanes.iter().map(|lane| lane.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), LANES.len());
        assert_eq!(names(&["loom", "lint"]).unwrap(), ["lint", "loom"]);
        let error = names(&["lomo"]).unwrap_err().to_string();
        assert!(
            error.contains("no lane `lomo`") && error.contains("loom"),
            "{error}"
        );
    }
}
