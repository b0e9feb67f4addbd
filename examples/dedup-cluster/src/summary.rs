//! What the program prints.

use std::{
    io::{self, Write},
    path::PathBuf,
};

use comfy_table::{CellAlignment, Table};
use dedup::{print_duplicates, print_table};
use dedup_cluster::{ClusterError, Report, Statistics, WorkerUse};
use humansize::{BINARY, format_size};

pub(crate) fn print(paths: &[PathBuf], report: &Report, groups: usize) -> Result<(), ClusterError> {
    let sum = |value: fn(&Statistics) -> u64| report.processes.iter().map(value).sum();
    let roots: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    let files = sum(|process| process.files + process.known);
    let duplicates = report.duplicates()?;
    dedup::print(|out| {
        print_duplicates(
            out,
            roots.join(", ").as_ref(),
            files,
            sum(|process| process.bytes),
            &duplicates,
            groups,
        )?;
        print_processes(out, &report.processes)
    })?;
    Ok(())
}

fn print_processes(out: &mut impl Write, processes: &[Statistics]) -> io::Result<()> {
    let mut table = Table::new();
    table.set_header([
        "process",
        "hashed",
        "bytes",
        "known",
        "grouped",
        "sent",
        "received",
        "busy",
        "waited",
        "CPU",
        "CPU waiting",
        "grouped waiting",
    ]);
    for process in processes {
        table.add_row([
            process.process.to_string(),
            process.files.to_string(),
            format_size(process.bytes, BINARY),
            process.known.to_string(),
            process.digests.to_string(),
            format_size(process.sent, BINARY),
            format_size(process.received, BINARY),
            seconds(process.busy),
            seconds(process.waited),
            process.processor.map_or_else(unknown, seconds),
            waiting(process).map_or_else(unknown, |share| format!("{:.2} %", 100.0 * share)),
            process.digests_waiting.to_string(),
        ]);
    }
    writeln!(out)?;
    print_table(out, table, [CellAlignment::Right; 12])?;

    let mut table = Table::new();
    table.set_header(["process", "worker", "active", "idle", "asleep"]);
    for process in processes {
        for (index, worker) in process.workers.iter().enumerate() {
            let WorkerUse {
                active,
                idle,
                asleep,
            } = *worker;
            let times = [active, idle, asleep].map(seconds);
            table.add_row([&[process.process, index].map(|n| n.to_string())[..], &times].concat());
        }
    }
    writeln!(out)?;
    print_table(out, table, [CellAlignment::Right; 5])
}

/// Returns the share of a processor that a process used while it waited, if that took long enough
/// to tell.
fn waiting(process: &Statistics) -> Option<f64> {
    const LEAST: f64 = 0.1;
    let used = process.processor_waiting?;
    (process.waited >= LEAST).then(|| used / process.waited)
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.3} s")
}

fn unknown() -> String {
    "-".to_owned()
}
