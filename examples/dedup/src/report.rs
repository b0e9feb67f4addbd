//! What the program prints.

use std::{path::Path, time::Duration};

use comfy_table::{CellAlignment, Table, presets};
use dedup::{Duplicates, Tree, Unreadable};
use humansize::{BINARY, format_size};

use crate::Pass;

/// The maximum number of unreadable files that the report names.
const NAMED: usize = 10;

pub(crate) fn print(
    root: &Path,
    tree: &Tree,
    duplicates: &Duplicates,
    groups: usize,
    one: &Pass,
    all: &Pass,
) {
    let unreadable: Vec<_> = tree
        .unreadable
        .iter()
        .chain(&duplicates.unreadable)
        .collect();
    println!("{}", root.display());
    let mut summary = Table::new();
    summary
        .add_row(["files", &tree.files.len().to_string()])
        .add_row(["bytes", &format_size(tree.bytes(), BINARY)])
        .add_row([
            "duplicates",
            &duplicates.redundant_files().to_string(),
            &format!(
                "in {} groups, {} redundant",
                duplicates.groups.len(),
                format_size(duplicates.redundant_bytes(), BINARY),
            ),
        ])
        .add_row(["unreadable", &unreadable.len().to_string()]);
    print_table(
        summary,
        [
            CellAlignment::Left,
            CellAlignment::Right,
            CellAlignment::Left,
        ],
    );
    print_unreadable(&unreadable);
    print_groups(duplicates, groups);
    print_times(one, all);
}

fn print_unreadable(unreadable: &[&Unreadable]) {
    for unreadable in unreadable.iter().take(NAMED) {
        println!("    {unreadable}");
    }
    if unreadable.len() > NAMED {
        println!("    and {} more", unreadable.len() - NAMED);
    }
}

fn print_groups(duplicates: &Duplicates, groups: usize) {
    for group in duplicates.groups.iter().take(groups) {
        println!(
            "\n  {} x {}, {}",
            group.paths.len(),
            format_size(group.size, BINARY),
            group.digest.to_hex().get(..16).unwrap_or_default(),
        );
        for path in group.paths.iter().take(3) {
            println!("    {}", path.display());
        }
        if group.paths.len() > 3 {
            println!("    and {} more", group.paths.len() - 3);
        }
    }
}

fn print_times(one: &Pass, all: &Pass) {
    let workers = all.workers.len();
    let speed_up = one.time.as_secs_f64() / all.time.as_secs_f64();
    let mut times = Table::new();
    times
        .add_row(["time on 1 worker", &duration(one.time)])
        .add_row([&format!("time on {workers} workers"), &duration(all.time)])
        .add_row(["speed-up", &format!("{speed_up:.2}x")]);
    println!();
    print_table(times, [CellAlignment::Left, CellAlignment::Right]);

    let mut times = Table::new();
    times.set_header(["worker", "active", "idle", "asleep"]);
    for (index, worker) in all.workers.iter().enumerate() {
        times.add_row([
            index.to_string(),
            duration(worker.active),
            duration(worker.idle),
            duration(worker.asleep),
        ]);
    }
    println!();
    print_table(times, [CellAlignment::Right; 4]);
}

fn duration(duration: Duration) -> String {
    format!("{duration:.1?}")
}

/// Prints a table without lines, whose columns are aligned like this.
fn print_table<const COLUMNS: usize>(mut table: Table, alignments: [CellAlignment; COLUMNS]) {
    table.load_style(presets::NOTHING).discover_columns();
    for (column, alignment) in std::iter::zip(table.column_iter_mut(), alignments) {
        column.set_cell_alignment(alignment);
    }
    println!("{}", table.trim_fmt());
}
