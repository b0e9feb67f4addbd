//! What both programs print: the one with a process, and that with several.

use std::path::Path;

use comfy_table::{CellAlignment, Table, presets};
use humansize::{BINARY, format_size};

use crate::{Duplicates, Unreadable};

/// The maximum number of unreadable files that the report names.
const NAMED: usize = 10;

/// Prints what was found below `root`: a summary, the unreadable files, and the first `groups`
/// groups.
pub fn print_duplicates(
    root: &Path,
    files: u64,
    bytes: u64,
    duplicates: &Duplicates,
    groups: usize,
) {
    println!("{}", root.display());
    let mut summary = Table::new();
    summary
        .add_row(["files", &files.to_string()])
        .add_row(["bytes", &format_size(bytes, BINARY)])
        .add_row([
            "duplicates",
            &duplicates.redundant_files().to_string(),
            &format!(
                "in {} groups, {} redundant",
                duplicates.groups.len(),
                format_size(duplicates.redundant_bytes(), BINARY),
            ),
        ])
        .add_row(["unreadable", &duplicates.unreadable.len().to_string()]);
    print_table(
        summary,
        [
            CellAlignment::Left,
            CellAlignment::Right,
            CellAlignment::Left,
        ],
    );
    print_unreadable(&duplicates.unreadable);
    print_groups(duplicates, groups);
}

fn print_unreadable(unreadable: &[Unreadable]) {
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

/// Prints a table without lines, whose columns are aligned like this.
pub fn print_table<const COLUMNS: usize>(mut table: Table, alignments: [CellAlignment; COLUMNS]) {
    table.load_style(presets::NOTHING).discover_columns();
    for (column, alignment) in std::iter::zip(table.column_iter_mut(), alignments) {
        column.set_cell_alignment(alignment);
    }
    println!("{}", table.trim_fmt());
}
