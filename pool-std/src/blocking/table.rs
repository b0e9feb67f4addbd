//! A table as text.

use std::fmt;

/// Writes rows of equal length, two spaces between columns and no space or line break at the end.
///
/// `to_the_left` says which columns are aligned to the left.
pub(crate) fn write<const COLUMNS: usize>(
    f: &mut fmt::Formatter<'_>,
    rows: &[[String; COLUMNS]],
    to_the_left: [bool; COLUMNS],
) -> fmt::Result {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, field) in widths.iter_mut().zip(row) {
            *width = (*width).max(field.chars().count());
        }
    }
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for ((field, width), to_the_left) in row.iter().zip(widths).zip(to_the_left) {
            let gap = if line.is_empty() { "" } else { "  " };
            line.push_str(gap);
            line.push_str(&if to_the_left {
                format!("{field:<width$}")
            } else {
                format!("{field:>width$}")
            });
        }
        let line_break = if number == 0 { "" } else { "\n" };
        write!(f, "{line_break}{}", line.trim_end())?;
    }
    Ok(())
}
