//! `cargo xtask litmus`: what the threads of a small program can observe of each other.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

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
        let litmus = read(file)?;
        is_as_expected &= check_one(&litmus).with_context(|| file.display().to_string())?;
    }
    Ok(if is_as_expected {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Whether a program has guards, ends as it says, and in another way without each of them.
pub(crate) fn needs_all_guards(file: &Path) -> Result<bool> {
    let litmus = read(file)?;
    let mut needs_all = !litmus.guards.is_empty() && check(&litmus)?.is_as_expected();
    for guard in 0..litmus.guards.len() {
        needs_all &= !check(&litmus.without_guard(guard))?.is_as_expected();
    }
    Ok(needs_all)
}

fn read(file: &Path) -> Result<Litmus> {
    let name = || file.display().to_string();
    let text = fs::read_to_string(file).with_context(name)?;
    text.parse().with_context(name)
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
    if report.executions == 0 {
        println!("there is NO execution: an `await` never ends");
    }
    // An expectation of races prints it.
    let mut prints_race = true;
    for (number, verdict) in (1..).zip(&report.verdicts) {
        let expectation = match &litmus.expectations[number - 1] {
            Expectation::Allow(_) => "is to be allowed",
            Expectation::Forbid(_) => "is to be forbidden",
            Expectation::ForbidRaces => "races are to be forbidden",
            Expectation::AllowRaces => "races are to be allowed",
            Expectation::ForbidWaits => "waits without end are to be forbidden",
            Expectation::AllowWaits => "waits without end are to be allowed",
        };
        let result = if verdict.is_met {
            "as expected"
        } else {
            "NOT as expected"
        };
        println!("{number}. {expectation}: {result}");
        let is_of_races = matches!(
            litmus.expectations[number - 1],
            Expectation::ForbidRaces | Expectation::AllowRaces
        );
        prints_race &= !is_of_races;
        match &verdict.witness {
            Some(witness) => println!("{witness}"),
            None if verdict.is_met || is_of_races || report.race.is_none() => {
                println!("   there is no such execution");
            }
            None => println!("   a program with a data race may do anything"),
        }
    }
    if let Some(race) = report.race.as_ref().filter(|_| prints_race) {
        println!("there is a DATA RACE, so that the program is undefined\n{race}");
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
