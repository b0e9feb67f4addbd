//! The command line of `query-engine`.

mod report;

use std::{
    io::{self, StdoutLock, Write as _},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use query_engine::{
    Change, CycleError, Facts, Graph, Packages, Query, Statistics, Target, Targets,
};

/// Computes depth, number and digest of what each target depends on, and computes only what has to
/// be computed again after changes. Cycles are found and named.
///
/// The exit status is 1 if there is a cycle in the end, and 2 if the input is wrong.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// A file with lines `target: dependency dependency` [default: the packages of the cargo
    /// workspace in the current directory]
    file: Option<PathBuf>,

    /// The manifest of another cargo workspace
    #[arg(long, value_name = "PATH", conflicts_with = "file")]
    manifest_path: Option<PathBuf>,

    /// Only the members of the workspace, not the packages that it takes from elsewhere
    #[arg(long, conflicts_with = "file")]
    members: bool,

    /// The dependencies of tests, examples and benchmarks too; these may have cycles
    #[arg(long, conflicts_with = "file")]
    dev: bool,

    /// Only this target and what it depends on; can be given several times
    #[arg(long, value_name = "TARGET")]
    only: Vec<String>,

    /// Then edit the source of a target, `TARGET`, or change its dependencies,
    /// `TARGET: DEPENDENCY…`, and bring all up to date; can be given several times
    #[arg(long, short, value_name = "CHANGE")]
    change: Vec<String>,

    /// Workers to use [default: one for each processor]
    #[arg(long, short, default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Work per target: thousands of hashes to compute when its dependencies are read, and for its
    /// digest
    #[arg(long, short, default_value_t = 0, hide_default_value = true)]
    work: u32,

    /// Print also what may differ from run to run: times, how often workers waited for each other,
    /// and the last report of the pool that all did
    #[arg(long, short)]
    verbose: bool,
}

/// What an update of all targets brought.
struct Update {
    facts: Vec<Result<Facts, CycleError<Query>>>,
    statistics: Statistics,
    time: Duration,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(has_cycles) => ExitCode::from(u8::from(has_cycles)),
        Err(message) => {
            eprintln!("query-engine: {message}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether there is a cycle in the end, or what is wrong with the input or the output.
fn run(arguments: &Arguments) -> Result<bool, String> {
    let graph = read(arguments)?;
    let (chosen, changes) = choose(arguments, &graph)?;
    let mut targets =
        Targets::new(graph, arguments.threads, arguments.work).map_err(|error| chain(&error))?;

    let verbose = arguments.verbose;
    print(|out| report::print_graph(out, targets.graph()))?;
    let mut last = update(&mut targets, &chosen);
    print(|out| report::print_update(out, &targets, &chosen, None, &last, verbose))?;
    for (text, change) in arguments.change.iter().zip(&changes) {
        print(|out| writeln!(out, "\nchange {text}"))?;
        targets.apply(change);
        let next = update(&mut targets, &chosen);
        print(|out| report::print_update(out, &targets, &chosen, Some(&last), &next, verbose))?;
        last = next;
    }
    Ok(last.facts.iter().any(Result::is_err))
}

/// Calls a closure with the standard output. A reader that wants no more of it, such as `head`, is
/// no error: the exit status is the same as with a reader of everything.
fn print(closure: impl FnOnce(&mut StdoutLock<'_>) -> io::Result<()>) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match closure(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot print: {error}"))
        }
        _ => Ok(()),
    }
}

fn read(arguments: &Arguments) -> Result<Graph, String> {
    match &arguments.file {
        Some(file) => Graph::read(file).map_err(|error| error.to_string()),
        None => {
            let packages = Packages {
                only_members: arguments.members,
                dev_dependencies: arguments.dev,
            };
            Graph::of_workspace(arguments.manifest_path.as_deref(), packages)
                .map_err(|error| error.to_string())
        }
    }
}

/// Returns the targets to compute and the changes to make, before anything is computed.
fn choose(arguments: &Arguments, graph: &Graph) -> Result<(Vec<Target>, Vec<Change>), String> {
    let only = arguments.only.iter().map(|name| {
        let target = graph.target(name);
        target.ok_or_else(|| format!("--only: no target `{name}`"))
    });
    let only = only.collect::<Result<Vec<_>, _>>()?;
    let chosen = if only.is_empty() {
        graph.targets().collect()
    } else {
        only
    };
    let changes = arguments.change.iter().map(|text| {
        let change = graph.parse_change(text);
        change.map_err(|error| format!("--change `{text}`: {error}"))
    });
    Ok((chosen, changes.collect::<Result<_, _>>()?))
}

fn update(targets: &mut Targets, chosen: &[Target]) -> Update {
    let start = Instant::now();
    let facts = targets.all_facts(chosen);
    Update {
        facts,
        time: start.elapsed(),
        statistics: targets.take_statistics(),
    }
}

/// Returns the message of an error and of what led to it.
fn chain(error: &dyn std::error::Error) -> String {
    let source = error.source().map(chain);
    source.map_or(error.to_string(), |source| format!("{error}: {source}"))
}
