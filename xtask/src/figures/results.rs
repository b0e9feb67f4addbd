//! The figures in the tables of `cargo xtask bench`.

use std::collections::BTreeMap;

/// The columns of such a table before the ratio.
const HEADER: [&str; 4] = ["name", "workers", "system", "median"];

/// A row: a piece of work and a number of workers, as one system does it.
#[derive(Debug, PartialEq)]
struct Row<'a> {
    group: &'a str,
    name: &'a str,
    workers: &'a str,
    system: &'a str,
    median: &'a str,
    unit: &'a str,
    min: &'a str,
    max: &'a str,
    /// Empty for our own system.
    ratio: &'a str,
}

/// Returns the figures of all tables on a page: `bench.GROUP.NAME.WORKERS.SYSTEM` is a median with
/// its unit, the same with `.ratio` is the ratio to it, and `bench.GROUP.mean` is the geometric
/// mean of the ratios to rayon-core.
pub(super) fn figures(page: &str) -> BTreeMap<String, String> {
    let mut figures = BTreeMap::new();
    let mut ratios: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for row in rows(page) {
        let (group, system) = (row.group, row.system);
        let name = format!("bench.{group}.{}.{}.{system}", row.name, row.workers);
        let median = format!("{} {}", row.median, row.unit).trim_end().to_owned();
        if !row.ratio.is_empty() {
            figures.insert(format!("{name}.ratio"), row.ratio.to_owned());
        }
        figures.insert(name, median);
        if let Ok(ratio) = row.ratio.parse::<f64>()
            && system == "rayon-core"
            && ratio > 0.0
            && ratio.is_finite()
        {
            ratios.entry(group).or_default().push(ratio.ln());
        }
    }
    for (group, logarithms) in ratios {
        let mean = (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp();
        figures.insert(format!("bench.{group}.mean"), format!("{mean:.2}"));
    }
    figures
}

/// Returns the tables that other pages include: `bench.GROUP.NAME` has all systems and numbers of
/// workers.
pub(super) fn tables(page: &str) -> BTreeMap<String, String> {
    let mut tables = BTreeMap::new();
    for row in rows(page) {
        let name = format!("bench.{}.{}", row.group, row.name);
        let table = tables.entry(name).or_insert_with(|| {
            "| workers | system | median | min | max | ratio |\n\
             | --- | --- | --- | --- | --- | --- |\n"
                .to_owned()
        });
        let Row {
            workers,
            system,
            median,
            unit,
            min,
            max,
            ratio,
            ..
        } = row;
        let line =
            format!("| {workers} | {system} | {median} {unit} | {min} | {max} | {ratio} |\n");
        *table += &line.replace("  |", " |");
    }
    tables
}

/// Returns the rows that have results.
fn rows(page: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut group = "";
    let mut is_table = false;
    let (mut name, mut workers) = ("", "");
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            group = heading.trim();
        }
        let Some(line) = line.strip_prefix('|') else {
            is_table = false;
            continue;
        };
        let line = line.strip_suffix('|').unwrap_or(line);
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        if cells.starts_with(&HEADER) {
            is_table = true;
            continue;
        }
        let [
            its_name,
            its_workers,
            system,
            median,
            unit,
            min,
            max,
            _,
            ratio,
        ] = cells[..]
        else {
            continue;
        };
        if !is_table || median.starts_with(['-', ':']) || median.starts_with("missing") {
            continue;
        }
        if !its_name.is_empty() {
            (name, workers) = (its_name, its_workers);
        }
        rows.push(Row {
            group,
            name,
            workers,
            system,
            median,
            // What is counted has none.
            unit: if unit == "count" { "" } else { unit },
            min,
            max,
            ratio,
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
## join

| name | workers | system | median | | min | max | n | ratio |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| fib32 | 1 | ours | 2.00 | ns | 1.9 | 2.1 | 15 | |
| | | rayon-core | 10.0 | ns | 9.9 | 12 | 15 | 0.20 |
| | | chili | missing: it is not there | | | | | |
| tree | 2 | ours | 30.0 | count | 30 | 30 | 15 | |
| | | rayon-core | 37.5 | count | 30 | 40 | 15 | 0.80 |

| name | system | before |
|---|---|---|
| fib32 | ours | 58 |
";

    #[test]
    fn a_piece_of_work_is_a_table() {
        let tables = tables(PAGE);
        assert_eq!(
            tables["bench.join.fib32"],
            "| workers | system | median | min | max | ratio |\n\
             | --- | --- | --- | --- | --- | --- |\n\
             | 1 | ours | 2.00 ns | 1.9 | 2.1 | |\n\
             | 1 | rayon-core | 10.0 ns | 9.9 | 12 | 0.20 |\n"
        );
        assert_eq!(tables.len(), 2);
    }

    /// Reproduces a bug: where rayon-core has none of what is counted, the mean was infinite.
    /// `bench` leaves such a ratio out.
    #[test]
    fn a_ratio_to_nothing_is_not_in_the_mean() {
        let row = "| | | rayon-core | 0.000 | count | 0.000 | 0.000 | 15 | inf |\n";
        let page = PAGE.replacen("| tree |", &format!("{row}| tree |"), 1);
        assert_eq!(figures(&page)["bench.join.mean"], "0.40");
    }

    #[test]
    fn tables_have_figures() {
        let figures = figures(PAGE);
        let figures: Vec<_> = figures
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        assert_eq!(
            figures,
            [
                ("bench.join.fib32.1.ours", "2.00 ns"),
                ("bench.join.fib32.1.rayon-core", "10.0 ns"),
                ("bench.join.fib32.1.rayon-core.ratio", "0.20"),
                ("bench.join.mean", "0.40"),
                ("bench.join.tree.2.ours", "30.0"),
                ("bench.join.tree.2.rayon-core", "37.5"),
                ("bench.join.tree.2.rayon-core.ratio", "0.80"),
            ]
        );
    }
}
