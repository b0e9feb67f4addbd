//! The results on the terminal.

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};

use super::measure::{Comparison, Summary};

/// Prints a table for each group.
pub(crate) fn print(comparisons: &[Comparison], colour: bool) {
    print!(
        "{}",
        text(comparisons, |table| {
            table.load_style(presets::NOTHING);
            if !colour {
                table.force_no_tty();
            }
        })
    );
}

/// Returns the tables in Markdown.
pub(crate) fn markdown(comparisons: &[Comparison]) -> String {
    text(comparisons, |table| {
        table.load_style(presets::ASCII_MARKDOWN);
        table.force_no_tty();
    })
}

fn text(comparisons: &[Comparison], style: impl Fn(&mut Table)) -> String {
    let mut text = String::new();
    for group in comparisons.chunk_by(|one, next| one.group == next.group) {
        let mut table = table(group);
        style(&mut table);
        text += &format!("\n## {}\n\n{table}\n", group[0].group);
        if let Some(mean) = geometric_mean(group) {
            text += &format!("\ngeometric mean of the ratios to rayon-core: {mean:.2}\n");
        }
    }
    text + "\nmedians (means in `overlooked`); the ratio is ours to the other's, below 1 is better for us\n"
}

fn table(comparisons: &[Comparison]) -> Table {
    let mut table = Table::new();
    table.set_header([
        "name", "workers", "system", "median", "", "min", "max", "n", "ratio",
    ]);
    for comparison in comparisons {
        for (index, (system, result)) in comparison.systems.iter().enumerate() {
            let mut row = if index == 0 {
                vec![
                    Cell::new(&comparison.name),
                    right(comparison.threads.to_string()),
                ]
            } else {
                vec![Cell::new(""), Cell::new("")]
            };
            row.push(Cell::new(system));
            match result {
                Ok(summary) => row.extend(cells(comparison, summary, index == 0)),
                Err(reason) => row.push(Cell::new(format!("missing: {reason}"))),
            }
            table.add_row(row);
        }
    }
    table
}

fn cells(comparison: &Comparison, summary: &Summary, is_first: bool) -> Vec<Cell> {
    let ratio = comparison.ratio(summary).filter(|_| !is_first);
    vec![
        right(number(summary.median)).add_attribute(Attribute::Bold),
        Cell::new(comparison.unit.symbol()),
        right(number(summary.min)),
        right(number(summary.max)),
        right(summary.n.to_string()),
        match ratio {
            Some(ratio) => right(format!("{ratio:.2}")).fg(if ratio <= 1.0 {
                Color::Green
            } else {
                Color::Red
            }),
            None => Cell::new(""),
        },
    ]
}

fn right(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// Formats a number with at least three digits.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

fn geometric_mean(comparisons: &[Comparison]) -> Option<f64> {
    let logarithms: Vec<_> = comparisons
        .iter()
        .filter_map(|comparison| {
            let (_, result) = comparison
                .systems
                .iter()
                .find(|(system, _)| system == "rayon-core")?;
            let ratio = comparison.ratio(result.as_ref().ok()?)?.ln();
            // Of none and some there is no mean.
            ratio.is_finite().then_some(ratio)
        })
        .collect();
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    (!logarithms.is_empty()).then(|| mean.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let texts = [1234.5, 123.45, 12.345, 1.2345, 0.12345].map(number);
        assert_eq!(texts, ["1234", "123", "12.3", "1.23", "0.123"]);
    }
}
