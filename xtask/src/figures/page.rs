//! The figures on one page.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::{Captures, Regex};

use super::Figures;

/// A line of the page, from 1, and what is wrong with it.
type Error = (usize, String);

static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(<!-- figure:\s+(\S+)\s+-->)([^<]*)(<!-- /figure -->)").expect("valid")
});
static TABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?s)(<!-- table: (\S+) -->\n\n)(.*?)(\n<!-- /table -->)").expect("valid")
});
/// A comment that belongs to a figure or a table, or is meant to.
static COMMENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"<!--\s*/?\s*(figure|table)").expect("valid"));
static COUNT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(\d+\.\d+)\s+instructions\b").expect("valid"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let units = "ns|us|µs|ms|s|seconds|(?:nano|micro|milli)seconds";
    Regex::new(&format!(r"\b\d+\.\d+\s+(?:{units})\b")).expect("valid")
});

/// Returns the text with each figure and each table as the results have it.
pub(super) fn rewrite(text: &str, figures: &Figures) -> String {
    let new = |known: Option<&String>, captures: &Captures<'_>| {
        let new = known.map_or(&captures[3], String::as_str);
        format!("{}{new}{}", &captures[1], &captures[4])
    };
    let text = FIGURE.replace_all(text, |captures: &Captures<'_>| {
        new(figures.figures.get(&captures[2]), captures)
    });
    let text = TABLE.replace_all(&text, |captures: &Captures<'_>| {
        new(figures.tables.get(&captures[2]), captures)
    });
    text.into_owned()
}

/// Returns the number of figures and tables.
pub(super) fn count(text: &str) -> u64 {
    (FIGURE.find_iter(text).count() + TABLE.find_iter(text).count()) as u64
}

/// Finds figures and tables that the results have otherwise, or not at all, and comments that are
/// none.
pub(super) fn wrong_figures(text: &str, figures: &Figures) -> Vec<Error> {
    let mut errors = Vec::new();
    for (pattern, known) in [(&FIGURE, &figures.figures), (&TABLE, &figures.tables)] {
        for captures in pattern.captures_iter(text) {
            let whole = captures.get(0).expect("the match itself");
            let (name, shown) = (&captures[2], &captures[3]);
            let error = match known.get(name) {
                None => format!("no command has measured {name}"),
                Some(figure) if figure != shown => format!("{name} is {figure:?}, not {shown:?}"),
                // Such a line would be HTML as a whole, and its Markdown would not be read.
                Some(_)
                    if pattern.as_str() == FIGURE.as_str() && begins_line(text, whole.start()) =>
                {
                    format!("{name} must not begin a line")
                }
                Some(_) => continue,
            };
            errors.push((line(text, whole.start()), error));
        }
    }
    let expected = 2 * count(text) as usize;
    if COMMENT.find_iter(text).count() != expected {
        errors.push((
            1,
            "a comment of a figure or a table has no partner".to_owned(),
        ));
    }
    errors
}

fn begins_line(text: &str, position: usize) -> bool {
    let before = text[..position].rsplit('\n').next().unwrap_or_default();
    before.trim().is_empty()
}

/// Finds numbers of instructions that callgrind has not counted.
pub(super) fn wrong_counts<'a>(
    text: &'a str,
    figures: &'a Figures,
) -> impl Iterator<Item = Error> + 'a {
    typed(text, &COUNT).filter_map(|(line, number)| {
        let number = number.split_whitespace().next()?;
        let error = format!("callgrind has not counted {number} instructions");
        (!figures.is_counted(number)).then_some((line, error))
    })
}

/// Finds measured times that are not figures: those with a decimal point. A limit that a user
/// chose has none.
pub(super) fn typed_figures(text: &str) -> impl Iterator<Item = Error> {
    let error = |number| format!("{number:?} is typed: name a figure, or link to the results");
    typed(text, &TIME).map(move |(line, number)| (line, error(number)))
}

/// Finds a pattern in the text of a page, without its code and its figures.
fn typed(text: &str, pattern: &Regex) -> impl Iterator<Item = (usize, String)> {
    // Keeps the lines.
    let text = FIGURE.replace_all(text, "");
    let lines = |table: &Captures<'_>| "\n".repeat(table[0].matches('\n').count());
    let text = TABLE.replace_all(&text, lines).into_owned();
    let mut found = Vec::new();
    let mut is_code = false;
    let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    // A soft break ends a text, so whole paragraphs are put together first.
    let mut block = String::new();
    let mut begin = 0;
    for (event, range) in Parser::new_ext(&text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(part) if !is_code => {
                if block.is_empty() {
                    begin = range.start;
                }
                block.push_str(&part);
            }
            Event::SoftBreak | Event::Code(_) => block.push(' '),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell,
            ) => {
                let numbers = pattern.find_iter(&block);
                found.extend(numbers.map(|it| (line(&text, begin), it.as_str().to_owned())));
                block.clear();
            }
            _ => {}
        }
    }
    found.into_iter()
}

fn line(text: &str, position: usize) -> usize {
    text[..position].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        let known = &mut figures.figures;
        known.insert("callgrind.join.ours".to_owned(), "65.9".to_owned());
        known.insert("bench.a".to_owned(), "2.22 ns".to_owned());
        figures
            .tables
            .insert("sizes".to_owned(), "| a |\n".to_owned());
        figures
    }

    fn wrong(text: &str) -> Vec<Error> {
        wrong_figures(text, &figures())
    }

    #[test]
    fn figures_that_the_results_know_otherwise_are_wrong() {
        let figure = "It takes <!-- figure: bench.a -->2.22 ns<!-- /figure --> in all.";
        assert_eq!(wrong(figure), []);
        assert_eq!(count(figure), 1);
        let old = figure.replace("2.22", "3.12");
        let error = r#"bench.a is "2.22 ns", not "3.12 ns""#;
        assert_eq!(wrong(&old), [(1, error.to_owned())]);
        assert_eq!(rewrite(&old, &figures()), figure);
        let error = "no command has measured bench.b";
        let unknown = format!("\n{}", figure.replace("bench.a", "bench.b"));
        assert_eq!(wrong(&unknown), [(2, error.to_owned())]);
        assert_eq!(rewrite(&unknown, &figures()), unknown);
    }

    #[test]
    fn a_figure_does_not_begin_a_line() {
        let text = "Text:\n<!-- figure: bench.a -->2.22 ns<!-- /figure --> in all.";
        let error = "bench.a must not begin a line";
        assert_eq!(wrong(text), [(2, error.to_owned())]);
    }

    #[test]
    fn comments_have_partners() {
        for text in [
            "It takes <!-- figure: bench.a -->2.22 ns.",
            "It takes <!--figure: bench.a-->2.22 ns<!-- /figure -->.",
            "<!-- table: sizes -->\n| a |\n<!-- /table -->",
        ] {
            assert_eq!(wrong(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn tables_are_included() {
        let text = "<!-- table: sizes -->\n\n| b |\n\n<!-- /table -->\n";
        assert_eq!(wrong(text).len(), 1);
        let written = rewrite(text, &figures());
        assert_eq!(written, text.replace("| b |", "| a |"));
        assert_eq!(wrong(&written), []);
    }

    #[test]
    fn typed_times_are_found_outside_code() {
        let lines = |text| {
            typed_figures(text)
                .map(|(line, _)| line)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines("A join takes 2.22 ns.\n\n| a |\n|---|\n| 1.5 us |\n"),
            [1, 5]
        );
        assert_eq!(lines("It takes 3.5\nmilliseconds."), [1]);
        let table = "<!-- table: a -->\n\n| 1.5 ns |\n\n<!-- /table -->\n\n1.5 ns\n";
        assert_eq!(lines(table), [7]);
        let others = "50 us, `2.5 us`, 0.5.1 so, 2.5 steps, <!-- figure: a -->2.5 ns<!-- /figure -->\n\n\
                      ```text\n1.5 s\n```\n";
        assert_eq!(lines(others), [0; 0]);
    }

    #[test]
    fn typed_counts_are_those_of_callgrind() {
        let figures = figures();
        let lines = |text| {
            wrong_counts(text, &figures)
                .map(|(line, _)| line)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines("It takes 65.9 instructions, and 8 instructions more."),
            [0; 0]
        );
        assert_eq!(lines("\nIt takes 66.8\ninstructions."), [2]);
    }
}
