//! `cargo xtask litmus`: what the threads of a small program can observe of each other.

use std::{fs, path::PathBuf, process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use proofs::{
    litmus::{Expectation, Litmus},
    memory::check,
};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Programs, as `proofs/README.md` describes them; `proofs/litmus` has some
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Checks each program, and prints an execution for each expectation that has one.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut is_as_expected = true;
    for file in &arguments.files {
        let name = file.display().to_string();
        let text = fs::read_to_string(file).with_context(|| name.clone())?;
        let litmus: Litmus = text.parse().with_context(|| name.clone())?;
        is_as_expected &= check_one(&litmus).with_context(|| name)?;
    }
    Ok(if is_as_expected {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn check_one(litmus: &Litmus) -> Result<bool> {
    let begin = Instant::now();
    let report = check(litmus)?;
    println!("{}", litmus.name);
    println!(
        "{} executions of {} candidates, {} ms",
        report.executions,
        report.candidates,
        begin.elapsed().as_millis()
    );
    for (number, verdict) in (1..).zip(&report.verdicts) {
        let expectation = match &litmus.expectations[number - 1] {
            Expectation::Allow(_) => "is to be allowed",
            Expectation::Forbid(_) => "is to be forbidden",
            Expectation::ForbidRaces => "races are to be forbidden",
            Expectation::AllowRaces => "races are to be allowed",
        };
        let result = if verdict.is_met {
            "as expected"
        } else {
            "NOT as expected"
        };
        println!("{number}. {expectation}: {result}");
        match &verdict.witness {
            Some(witness) => println!("{witness}"),
            None => println!("   there is no such execution"),
        }
    }
    let mut is_as_expected = report.is_as_expected();
    for guard in 0..litmus.guards.len() {
        let is_needed = !check(&litmus.without_guard(guard))?.is_as_expected();
        is_as_expected &= is_needed;
        let (thread, place) = litmus.guards[guard];
        let result = if is_needed {
            "it fails"
        } else {
            "NOTHING is lost"
        };
        println!("without statement {place} of thread {thread}: {result}");
    }
    println!();
    Ok(is_as_expected)
}
