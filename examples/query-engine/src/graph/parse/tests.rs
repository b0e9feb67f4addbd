use super::*;

#[track_caller]
fn parse(text: &str) -> Graph {
    Graph::parse(text.as_bytes()).unwrap().unwrap()
}

fn error(text: impl AsRef<[u8]>) -> (usize, LineError) {
    Graph::parse(text.as_ref()).unwrap_err()
}

fn lines(graph: &Graph) -> Vec<String> {
    let name = |&target: &Target| graph.name(target).to_owned();
    let line = |target| {
        let dependencies = graph.dependencies(target).iter().map(name);
        let dependencies: Vec<_> = dependencies.collect();
        format!("{}: {}", graph.name(target), dependencies.join(" "))
    };
    graph.targets().map(line).collect()
}

#[test]
fn targets_are_sorted_and_dependencies_are_not() {
    let graph = parse("b: c a c\n\n  # a comment\nc:# none\n\ta :b\n");
    assert_eq!(lines(&graph), ["a: b", "b: c a c", "c: "]);
    assert_eq!(graph.num_dependencies(), 4);
}

#[test]
fn line_ends_and_marks_of_other_systems_do_not_matter() {
    assert_eq!(parse("\u{feff}a: b\r\nb:\r\n"), parse("a: b\nb:"));
}

#[test]
fn names_may_be_in_any_script() {
    assert_eq!(lines(&parse("Größe: 数\n数:\n")), ["Größe: 数", "数: "]);
}

#[test]
fn wrong_lines_are_named_by_their_numbers() {
    assert_eq!(error("a: b\nb\n"), (2, LineError::NoColon));
    assert_eq!(error("a:\n\n : a\n"), (3, LineError::NoTarget));
    assert_eq!(error("a b: \n"), (1, LineError::SeveralTargets));
    assert_eq!(
        error("a: b:c\n"),
        (1, LineError::ColonInDependency("b:c".into()))
    );
    assert_eq!(error(b"a:\nb: \xFF\n"), (2, LineError::NotUtf8));
    let duplicate = LineError::DuplicateTarget {
        name: "a".into(),
        first: 1,
    };
    assert_eq!(error("a:\n#\na: a\n"), (3, duplicate));
}

#[test]
fn the_first_unknown_dependency_is_named() {
    // In the order of lines, not of names.
    assert_eq!(
        error("z: x\na: y\n"),
        (1, LineError::UnknownDependency("x".into()))
    );
}

#[test]
fn there_may_be_no_targets() {
    assert_eq!(Graph::parse(b"\n# nothing\n"), Ok(None));
}

#[test]
fn the_number_of_targets_is_limited() {
    let mut text: String = (0..MAX_TARGETS).map(|name| format!("{name}:\n")).collect();
    assert_eq!(parse(&text).targets().len(), MAX_TARGETS);
    text.push_str("more:\n");
    assert_eq!(error(&text), (MAX_TARGETS + 1, LineError::TooManyTargets));
}

#[test]
fn a_change_edits_a_source_or_replaces_dependencies() {
    let mut graph = parse("a: b\nb:\nc:\n");
    let a = graph.target("a").unwrap();
    assert_eq!(graph.parse_change(" a "), Ok(Change::Edit(a)));
    let change = graph.parse_change("a: c b").unwrap();
    graph.apply(&change);
    assert_eq!(lines(&graph), ["a: c b", "b: ", "c: "]);
    let change = graph.parse_change("a:").unwrap();
    graph.apply(&change);
    assert_eq!(lines(&graph), ["a: ", "b: ", "c: "]);
}

#[test]
fn wrong_changes_are_refused() {
    let graph = parse("a: b\nb:\n");
    let unknown = |name: &str| Err(ChangeError::UnknownTarget(name.into()));
    let line = |error| Err(ChangeError::Line(error));
    assert_eq!(graph.parse_change("x"), unknown("x"));
    assert_eq!(graph.parse_change(""), unknown(""));
    assert_eq!(graph.parse_change("x: a"), unknown("x"));
    assert_eq!(graph.parse_change(":"), line(LineError::NoTarget));
    assert_eq!(graph.parse_change("# a: b"), line(LineError::NoColon));
    assert_eq!(
        graph.parse_change("a: x"),
        line(LineError::UnknownDependency("x".into()))
    );
}
