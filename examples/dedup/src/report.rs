//! What both programs print: the one with a process, and that with several.

use std::{
    io::{self, Write},
    path::Path,
};

use comfy_table::{CellAlignment, Table, presets};
use humansize::{BINARY, format_size};

use crate::{Duplicates, Unreadable};

/// The maximum number of unreadable files that the report names.
const NAMED: usize = 10;

/// Prints what was found below `root`: a summary, the unreadable files, and the first `groups`
/// groups.
///
/// # Errors
/// That of the output.
pub fn print_duplicates(
    out: &mut impl Write,
    root: &Path,
    files: u64,
    bytes: u64,
    duplicates: &Duplicates,
    groups: usize,
) -> io::Result<()> {
    writeln!(out, "{}", root.display())?;
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
        out,
        summary,
        [
            CellAlignment::Left,
            CellAlignment::Right,
            CellAlignment::Left,
        ],
    )?;
    print_unreadable(out, &duplicates.unreadable)?;
    print_groups(out, duplicates, groups)
}

fn print_unreadable(out: &mut impl Write, unreadable: &[Unreadable]) -> io::Result<()> {
    for unreadable in unreadable.iter().take(NAMED) {
        writeln!(out, "    {unreadable}")?;
    }
    if unreadable.len() > NAMED {
        writeln!(out, "    and {} more", unreadable.len() - NAMED)?;
    }
    Ok(())
}

fn print_groups(out: &mut impl Write, duplicates: &Duplicates, groups: usize) -> io::Result<()> {
    for group in duplicates.groups.iter().take(groups) {
        writeln!(
            out,
            "\n  {} x {}, {}",
            group.paths.len(),
            format_size(group.size, BINARY),
            group.digest.to_hex().get(..16).unwrap_or_default(),
        )?;
        for path in group.paths.iter().take(3) {
            writeln!(out, "    {}", path.display())?;
        }
        if group.paths.len() > 3 {
            writeln!(out, "    and {} more", group.paths.len() - 3)?;
        }
    }
    Ok(())
}

/// Prints a table without lines, whose columns are aligned like this.
///
/// # Errors
/// That of the output.
pub fn print_table<const COLUMNS: usize>(
    out: &mut impl Write,
    mut table: Table,
    alignments: [CellAlignment; COLUMNS],
) -> io::Result<()> {
    table.load_style(presets::NOTHING).discover_columns();
    for (column, alignment) in std::iter::zip(table.column_iter_mut(), alignments) {
        column.set_cell_alignment(alignment);
    }
    writeln!(out, "{}", table.trim_fmt())
}

/// Calls a closure with the standard output. A reader that wants no more of it, such as `head`, is
/// no error.
///
/// # Errors
/// That of the closure, but for a broken pipe.
pub fn print(closure: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match closure(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
