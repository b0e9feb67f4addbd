//! The command line of `dedup-cluster`.

mod progress;
mod summary;

use std::{path::PathBuf, process::ExitCode};

use clap::{ArgGroup, Parser};
use dedup::default_path;
use dedup_cluster::{
    ClusterError, Launched, Member, Options, Report, exit_on_panic, read_hosts, run,
};

/// Finds duplicate files with several processes, which exchange digests.
///
/// Starts the processes on this machine. With `--process`, is one of the processes itself, and the
/// others are started likewise, here or on other machines.
#[derive(Parser)]
#[command(version, group = ArgGroup::new("meeting").multiple(true))]
struct Arguments {
    /// One directory that all processes share, or one for each process [default: the sources in
    /// the cargo registry, or else the current directory]
    paths: Vec<PathBuf>,

    /// The number of processes
    #[arg(long, short = 'n', default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    processes: u16,

    /// Workers in the pool of each process [default: the processors of this machine, shared by its
    /// processes]
    #[arg(long, short, default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// A directory in which each process lists the digests that it has computed; another run takes
    /// them from there
    #[arg(long, value_name = "DIR")]
    lists: Option<PathBuf>,

    /// A file with `HOST:PORT` of each process in a line [default: free ports of 127.0.0.1]
    #[arg(long, value_name = "FILE", group = "meeting")]
    hosts: Option<PathBuf>,

    /// The number of this process, the first of which is 0
    #[arg(long, short, value_name = "NUMBER", requires = "meeting")]
    process: Option<u16>,

    /// Write the report to a file too, as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// How many groups of duplicates to list
    #[arg(long, short, default_value_t = 5)]
    groups: usize,

    /// Started by a parent, which says the rest over standard input
    #[arg(long, hide = true, group = "meeting")]
    launched: bool,

    /// For tests of faults: wait forever when this many files are hashed
    #[arg(long, hide = true)]
    hold_after: Option<u64>,
}

fn main() -> ExitCode {
    let mut arguments = Arguments::parse();
    if arguments.paths.is_empty() {
        arguments.paths.push(default_path());
    }
    let result = match arguments.process {
        Some(process) => be_process(&arguments, process.into()),
        None => start_processes(&arguments).map(Some),
    };
    match result.and_then(|report| finish(&arguments, report)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("dedup-cluster: {error}");
            ExitCode::from(2)
        }
    }
}

fn start_processes(arguments: &Arguments) -> Result<Report, ClusterError> {
    let mut options = Options::new(
        std::env::current_exe()?,
        arguments.processes.into(),
        PathBuf::new(),
    );
    options.trees.clone_from(&arguments.paths);
    options.threads = arguments.threads;
    options.lists.clone_from(&arguments.lists);
    options.hosts.clone_from(&arguments.hosts);
    options.hold_after = arguments.hold_after;
    let mut bar = progress::Bar::new(options.processes);
    let report = run(&options, |process, event, _| bar.show(process, event));
    bar.clear();
    report
}

fn be_process(arguments: &Arguments, process: usize) -> Result<Option<Report>, ClusterError> {
    exit_on_panic();
    let processes = arguments.processes.into();
    let hosts = arguments.hosts.as_ref();
    let hosts = hosts
        .map(|hosts| read_hosts(hosts, processes))
        .transpose()?;
    let member = Member {
        process,
        processes,
        trees: arguments.paths.clone(),
        threads: arguments.threads,
        lists: arguments.lists.clone(),
        hold_after: arguments.hold_after,
    };
    if arguments.launched {
        // The parent prints the report.
        member.run(&Launched::ByParent(hosts))?;
        return Ok(None);
    }
    member.run(&Launched::ByItself(hosts.unwrap_or_default()))
}

fn finish(arguments: &Arguments, report: Option<Report>) -> Result<(), ClusterError> {
    let Some(report) = report else {
        return Ok(());
    };
    // Printed also if it cannot be written: it may have taken hours.
    let written = arguments.report.as_ref().map(|path| report.write(path));
    summary::print(&arguments.paths, &report, arguments.groups)?;
    written.unwrap_or(Ok(()))
}
