//! The sizes of programs for small processors.

use serde::{Deserialize, Serialize};

/// What a program has beyond the one that does nothing.
#[derive(Serialize, Deserialize)]
pub(crate) struct Size {
    /// Its name, below `pool-spin/boards/size`.
    pub(crate) program: String,
    /// What it does.
    pub(crate) about: String,
    pub(crate) target: String,
    /// Bytes.
    pub(crate) flash: u64,
    /// Bytes, without stacks.
    pub(crate) memory: u64,
}

/// Returns the figures `sizes.PROGRAM.TARGET.flash` and `.ram`.
pub(super) fn figures(sizes: &[Size]) -> Vec<(String, String)> {
    let figures = sizes.iter().flat_map(|size| {
        let name = format!("sizes.{}.{}", size.program, size.target);
        [
            (format!("{name}.flash"), size.flash.to_string()),
            (format!("{name}.ram"), size.memory.to_string()),
        ]
    });
    figures.collect()
}

/// Returns the table of the page.
pub(super) fn table(sizes: &[Size]) -> String {
    let mut table = "| program | target | flash | RAM |\n| --- | --- | --- | --- |\n".to_owned();
    for programs in sizes.chunk_by(|one, next| one.program == next.program) {
        for (index, size) in programs.iter().enumerate() {
            let about = if index == 0 { size.about.as_str() } else { "" };
            let row = format!(
                "| {about} | {} | {} | {} |\n",
                size.target, size.flash, size.memory
            );
            table += &row.replace("|  |", "| |");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_once() {
        let size = |program: &str, target: &str, flash| Size {
            program: program.to_owned(),
            about: format!("about {program}"),
            target: target.to_owned(),
            flash,
            memory: 5,
        };
        let sizes = [
            size("a", "one", 1),
            size("a", "two", 2),
            size("b", "one", 3),
        ];
        assert_eq!(
            table(&sizes),
            "| program | target | flash | RAM |\n| --- | --- | --- | --- |\n\
             | about a | one | 1 | 5 |\n| | two | 2 | 5 |\n| about b | one | 3 | 5 |\n"
        );
        let names: Vec<_> = figures(&sizes[..1])
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["sizes.a.one.flash", "sizes.a.one.ram"]);
    }
}
