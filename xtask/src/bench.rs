//! `cargo xtask bench`: measures our crates against their peers, and shows the ratios.

mod callgrind;
mod curve;
mod file;
mod measure;
mod plot;
mod program;
mod table;

use std::{fs, io::IsTerminal, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, ensure};
use clap::builder::PossibleValuesParser;

use measure::{Comparison, measure};
use program::{PROGRAMS, Source};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Measure these groups only
    #[arg(
        long,
        value_name = "GROUP",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(groups())
    )]
    only: Vec<String>,

    /// Fewer repetitions: nine at most, and a third of those of slow cases
    #[arg(long)]
    quick: bool,

    /// The numbers of workers
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,

    /// Write the results to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Measure nothing: read the results that `--json` has written to this file, for tables and
    /// charts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "quick", "threads", "json", "callgrind"])]
    from: Option<PathBuf>,

    /// Count the instructions of a join and of a spawn with valgrind, and nothing else
    #[arg(long, conflicts_with_all = ["only", "quick", "threads", "json", "markdown", "svg"])]
    callgrind: bool,

    /// Keep the counts of `--callgrind` in docs/figures, for the pages that show them
    #[arg(long, requires = "callgrind")]
    keep: bool,

    /// Write the tables to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Draw a chart of each group into this directory
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
}

/// Builds the programs that measure, lets them take turns, and reports. Or reports what a file
/// holds.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.callgrind {
        callgrind::run(arguments.keep)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Known before anything is measured.
    for file in arguments.json.iter().chain(&arguments.markdown) {
        let mut options = fs::OpenOptions::new();
        let opened = options.append(true).create(true).open(file);
        opened.with_context(|| file.display().to_string())?;
    }
    let comparisons = match &arguments.from {
        Some(file) => file::read(file)?,
        None => build_and_measure(arguments)?,
    };
    table::print(&comparisons, std::io::stdout().is_terminal());
    if let Some(file) = &arguments.json {
        file::write(&comparisons, file)?;
    }
    if let Some(file) = &arguments.markdown {
        fs::write(file, table::markdown(&comparisons))
            .with_context(|| file.display().to_string())?;
    }
    if let Some(directory) = &arguments.svg {
        plot::draw(&comparisons, directory)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn build_and_measure(arguments: &Arguments) -> Result<Vec<Comparison>> {
    let groups = chosen(&arguments.only);
    ensure!(
        !arguments.threads.contains(&0),
        "--threads: a pool has at least one worker"
    );
    let wanted = |source: &&Source| source.groups.iter().any(|group| groups.contains(group));
    let built = PROGRAMS.iter().filter(wanted).map(Source::build);
    let built: Vec<_> = built.collect::<Result<_>>()?;
    measure(
        &built,
        &threads(&arguments.threads),
        &groups,
        arguments.quick,
    )
}

/// Returns the numbers of workers, each of them once: a second one would be compared with the first
/// as if it were another system.
fn threads(chosen: &[usize]) -> Vec<usize> {
    let mut threads = Vec::new();
    for count in chosen {
        if !threads.contains(count) {
            threads.push(*count);
        }
    }
    threads
}

/// Returns the names of all groups, in their order.
fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&str> = Vec::new();
    for group in PROGRAMS.iter().flat_map(|program| program.groups) {
        if !groups.contains(group) {
            groups.push(group);
        }
    }
    groups
}

/// Returns the groups in their order: those that were asked for, or all.
fn chosen(only: &[String]) -> Vec<&'static str> {
    let mut chosen = groups();
    chosen.retain(|group| only.is_empty() || only.iter().any(|name| name == group));
    chosen
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
        let parsed = CommandLine::try_parse_from(["bench", "--only", only]);
        let arguments = parsed.map_err(|error| error.to_string())?.arguments;
        Ok(chosen(&arguments.only))
    }

    /// Reproduces a bug: our results for a number that was given twice were compared with
    /// themselves.
    #[test]
    fn each_number_of_workers_is_measured_once() {
        assert_eq!(threads(&[2, 1, 2, 2]), [2, 1]);
    }

    #[test]
    fn chooses_groups_by_name() {
        assert!(chosen(&[]).len() > 1);
        assert_eq!(names("deque,join").unwrap(), ["join", "deque"]);
        let error = names("jion").unwrap_err();
        assert!(
            error.contains("'jion'") && error.contains("join"),
            "{error}"
        );
    }
}
