//! What the program prints.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};
use query_engine::{CycleError, Facts, Graph, Query, Target, Targets};

use crate::Update;

pub(crate) fn print_graph(out: &mut impl Write, graph: &Graph) -> io::Result<()> {
    let targets = graph.targets().len();
    writeln!(
        out,
        "{targets} targets, {} dependencies",
        graph.num_dependencies()
    )
}

/// Prints the targets that are not as in an earlier update, and what it took.
pub(crate) fn print_update(
    out: &mut impl Write,
    targets: &Targets,
    chosen: &[Target],
    earlier: Option<&Update>,
    update: &Update,
    verbose: bool,
) -> io::Result<()> {
    let mut table = Table::new();
    table.set_header(["target", "depth", "needs", "digest"]);
    let mut rows = 0;
    for (index, (&target, facts)) in chosen.iter().zip(&update.facts).enumerate() {
        if earlier.is_none_or(|earlier| earlier.facts[index] != *facts) {
            table.add_row(row(targets.graph(), target, facts));
            rows += 1;
        }
    }
    if rows > 0 {
        writeln!(out)?;
        print_table(out, table)?;
    }
    let cycles = targets.cycles();
    if !cycles.is_empty() {
        writeln!(out)?;
        for cycle in &cycles {
            writeln!(out, "cycle: {}", targets.path(cycle))?;
        }
    }
    let statistics = &update.statistics;
    writeln!(
        out,
        "\ncomputed {}, of which {} came out as before; reused {}",
        statistics.computed, statistics.unchanged, statistics.reused,
    )?;
    if verbose {
        writeln!(
            out,
            "waited {}, computed twice {}; cycles met {}, by deadlock {}; false dependencies {}",
            statistics.waited,
            statistics.duplicated,
            statistics.met,
            statistics.deadlocks,
            statistics.false_dependencies,
        )?;
        writeln!(out, "time {:.1?}", update.time)?;
        if statistics.deadlocks + statistics.false_dependencies > 0
            && let Some(report) = targets.engine().last_deadlock()
        {
            writeln!(out, "\n{}", report.to_string().trim_end())?;
        }
    }
    Ok(())
}

fn row(graph: &Graph, target: Target, facts: &Result<Facts, CycleError<Query>>) -> [String; 4] {
    let [depth, needs, digest] = match facts {
        Ok(facts) => {
            let digest = facts.digest.to_hex();
            let digest = digest.get(..16).unwrap_or_default().to_owned();
            [
                facts.depth.to_string(),
                facts.transitive.to_string(),
                digest,
            ]
        }
        Err(error) => {
            let is_on_it = error.cycle().path().contains(&Query::Closure(target));
            let what = if is_on_it {
                "on a cycle"
            } else {
                "needs a cycle"
            };
            ["-".to_owned(), "-".to_owned(), what.to_owned()]
        }
    };
    [graph.name(target).to_owned(), depth, needs, digest]
}

/// Prints a table without lines.
fn print_table(out: &mut impl Write, mut table: Table) -> io::Result<()> {
    table.load_style(presets::NOTHING).discover_columns();
    let alignments = [
        CellAlignment::Left,
        CellAlignment::Right,
        CellAlignment::Right,
        CellAlignment::Left,
    ];
    for (column, alignment) in std::iter::zip(table.column_iter_mut(), alignments) {
        column.set_cell_alignment(alignment);
    }
    writeln!(out, "{}", table.trim_fmt())
}
