//! `cargo xtask model`: all executions of a small pool with a sleep protocol.

use std::{process::ExitCode, time::Instant};

use anyhow::{Context as _, Result};
use proofs::pool::{GUARDS, Guard, Kind, NAMED, Scenario, check};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What there is to do for the pool [default: prints the names of all scenarios and guards]
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,

    /// The sleep protocol
    #[arg(long, default_value = "jec", value_parser = ["jec", "classic", "hints"])]
    protocol: String,

    /// What to leave out of the protocol, or of the pool; may be given several times
    #[arg(long, value_name = "GUARD")]
    without: Vec<String>,
}

/// Plays all executions, and prints one that fails.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Some(name) = &arguments.scenario else {
        println!("scenarios:");
        NAMED.iter().for_each(|(name, _)| println!("  {name}"));
        println!("guards, for --without:");
        GUARDS.iter().for_each(|(name, _)| println!("  {name}"));
        return Ok(ExitCode::SUCCESS);
    };
    let scenario = Scenario::named(name).with_context(|| format!("no scenario `{name}`"))?;
    let guard = |name: &String| Guard::named(name).with_context(|| format!("no guard `{name}`"));
    let without = arguments
        .without
        .iter()
        .map(guard)
        .collect::<Result<Vec<_>>>()?;
    let kind = Kind::ALL
        .into_iter()
        .find(|kind| kind.name() == arguments.protocol);
    let kind = kind.context("no such protocol")?;

    let start = Instant::now();
    let result = check(kind, scenario, &without);
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(findings) => {
            println!(
                "every job is taken, and every worker stops: {} states, {} steps, {seconds:.1} s",
                findings.states, findings.steps
            );
            match findings.most_wasteful_steps {
                Some(steps) => println!(
                    "a job waits beside a worker that sleeps for {steps} steps of all actors at most"
                ),
                None => println!("how long a job waits beside a worker that sleeps has no bound"),
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => {
            println!("{failure}");
            Ok(ExitCode::FAILURE)
        }
    }
}
