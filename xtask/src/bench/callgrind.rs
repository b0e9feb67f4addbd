//! The number of instructions of a join, of a spawn and of a handle, counted by valgrind: the same
//! in every run, whatever else the machine does.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result};

use super::program::PROGRAMS;
use crate::{command::Step, debian, figures};

const SYSTEMS: [&str; 3] = ["ours", "rayon-core", "sequential"];
/// The same program with spawned jobs.
const SPAWNING: [&str; 2] = ["ours-spawn", "rayon-core-spawn"];
/// And with jobs that have handles, which are joined.
const WITH_HANDLES: [&str; 3] = ["handle", "scoped", "future"];
/// The larger run less the smaller one is joins alone, without start and end, which differ from run
/// to run by some thousand instructions.
const SMALL: u32 = 15;
const LARGE: u32 = 25;

/// Counts, and prints a line for each system. Keeps the counts for the pages that show them, if
/// asked to.
pub(super) fn run(keep: bool) -> Result<()> {
    debian::need("valgrind", "valgrind")?;
    let program = PROGRAMS[0].build_binary("joins")?;
    println!("\ninstructions for a join that no worker steals, and its share of the program");
    let mut counts = BTreeMap::new();
    for system in SYSTEMS {
        counts.insert(format!("join.{system}"), each(&program, system)?);
    }
    println!("\nfor a job that is spawned in a scope and run by the same worker, likewise");
    for system in SPAWNING {
        let (name, _) = system.rsplit_once('-').expect("the names end so");
        counts.insert(format!("spawn.{name}"), each(&program, system)?);
    }
    println!(
        "\nfor a job of a pool, one of a scope, or a future, that is spawned with a handle, and joined by \
         the same worker"
    );
    let program = PROGRAMS[0].build_binary("handles")?;
    for kind in WITH_HANDLES {
        counts.insert(format!("{kind}.ours"), each(&program, kind)?);
    }
    if keep {
        figures::keep_counts(&counts)?;
    }
    Ok(())
}

/// Returns and prints the number of instructions for each join, or each spawn.
fn each(program: &Path, system: &str) -> Result<f64> {
    let difference = count(program, system, LARGE)? - count(program, system, SMALL)?;
    let joins = joins(LARGE) - joins(SMALL);
    let each = difference as f64 / joins as f64;
    println!("{system:16} {each:6.1}");
    Ok((each * 10.0).round() / 10.0)
}

/// Returns the number of joins, or spawns, of `fib(n)`: `fib(n + 1) - 1`.
fn joins(n: u32) -> i64 {
    let (mut this, mut next) = (1, 1);
    for _ in 0..n {
        (this, next) = (next, this + next);
    }
    this - 1
}

/// Returns the number of instructions of a run.
fn count(program: &Path, system: &str, n: u32) -> Result<i64> {
    let output = Step::new(
        "valgrind",
        &["--tool=callgrind", "--callgrind-out-file=/dev/null"],
    )
    .args([program])
    .args([system, &n.to_string()])
    .read_errors()?;
    collected(&output).with_context(|| format!("valgrind did not count:\n{output}"))
}

/// Returns the number that callgrind reports as collected.
fn collected(output: &str) -> Option<i64> {
    let (_, rest) = output.split_once("Collected : ")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_found() {
        let output = "==7== Events    : Ir\n==7== Collected : 13579\n==7==\n";
        assert_eq!(collected(output), Some(13_579));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn joins_of_small_numbers() {
        assert_eq!([0, 1, 2, 3, 4].map(joins), [0, 0, 1, 2, 4]);
        assert_eq!(joins(32), 3_524_577);
    }
}
