//! The program as a user starts it, its engine against a sequential computation, and bad input.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use query_engine::{Change, Facts, Graph, GraphError, LineError, Packages, Target, Targets};

const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");

/// Returns the facts of all targets, computed one after the other.
fn sequential(graph: &Graph, edits: &[u64], work: u32) -> Vec<Facts> {
    let mut computed: Vec<Option<(Facts, BTreeSet<Target>)>> = vec![None; edits.len()];
    while computed.iter().any(Option::is_none) {
        let before = computed.iter().flatten().count();
        for target in graph.targets() {
            let direct: BTreeSet<_> = graph.dependencies(target).iter().copied().collect();
            let below = direct
                .iter()
                .map(|&target| computed[target.index()].as_ref());
            let Some(below) = below.collect::<Option<Vec<_>>>() else {
                continue;
            };
            let mut all = direct.clone();
            all.extend(below.iter().flat_map(|(_, all)| all));
            let digests: Vec<_> = below.iter().map(|(facts, _)| facts.digest).collect();
            let name = graph.name(target);
            let facts = Facts {
                depth: below.iter().map(|(f, _)| f.depth + 1).max().unwrap_or(0),
                transitive: all.len(),
                digest: Facts::digest(name, edits[target.index()], &digests, work),
            };
            computed[target.index()] = Some((facts, all));
        }
        assert!(computed.iter().flatten().count() > before, "a cycle");
    }
    computed
        .into_iter()
        .flatten()
        .map(|(facts, _)| facts)
        .collect()
}

fn all_facts(targets: &Targets) -> Vec<Facts> {
    let all: Vec<_> = targets.graph().targets().collect();
    let facts = targets.all_facts(&all).into_iter();
    facts.collect::<Result<_, _>>().unwrap()
}

#[test]
fn this_workspace_agrees_with_a_sequential_computation() {
    let packages = Packages::default();
    let graph = Graph::of_workspace(Some(Path::new(MANIFEST)), packages).unwrap();
    let (core, pool) = (graph.target("sleep-core"), graph.target("pool-std"));
    let (core, pool) = (core.unwrap(), pool.unwrap());
    assert!(graph.dependencies(pool).contains(&core));
    let mut edits = vec![0; graph.targets().len()];
    for threads in [1, 2, 5] {
        let mut targets = Targets::new(graph.clone(), threads, 0).unwrap();
        assert_eq!(all_facts(&targets), sequential(&graph, &edits, 0));
        assert_eq!(targets.cycles(), []);
        let first = targets.take_statistics();
        assert_eq!(first.computed, 3 * edits.len() as u64);

        targets.apply(&Change::Edit(core));
        edits[core.index()] = 1;
        assert_eq!(all_facts(&targets), sequential(&graph, &edits, 0));
        edits[core.index()] = 0;
        let second = targets.take_statistics();
        assert!(second.computed > 1);
        assert_eq!(second.computed + second.reused, first.computed);
    }
}

#[test]
fn work_is_part_of_the_digest() {
    let graph = Graph::parse(b"a: b\nb:\n").unwrap().unwrap();
    let facts = [0, 1, 2].map(|work| {
        let targets = Targets::new(graph.clone(), 2, work).unwrap();
        assert_eq!(all_facts(&targets), sequential(&graph, &[0, 0], work));
        all_facts(&targets)[0].digest
    });
    assert!(facts[0] != facts[1] && facts[1] != facts[2]);
}

#[test]
fn the_members_of_this_workspace_need_no_registry() {
    let packages = Packages {
        only_members: true,
        ..Packages::default()
    };
    let graph = Graph::of_workspace(Some(Path::new(MANIFEST)), packages).unwrap();
    assert!(graph.target("query-engine").is_some() && graph.target("clap").is_none());
    // Members alone need each other as they do among all packages.
    let all = Graph::of_workspace(Some(Path::new(MANIFEST)), Packages::default()).unwrap();
    for target in graph.targets() {
        let same = all.target(graph.name(target)).unwrap();
        let names = |graph: &Graph, target| {
            let direct = graph.dependencies(target).iter();
            direct
                .map(|&target| graph.name(target).to_owned())
                .collect()
        };
        let (few, many): (BTreeSet<_>, BTreeSet<_>) = (names(&graph, target), names(&all, same));
        let many: BTreeSet<_> = many
            .into_iter()
            .filter(|n| graph.target(n).is_some())
            .collect();
        assert_eq!(few, many, "{}", graph.name(target));
    }
}

#[test]
fn dev_dependencies_may_have_cycles() {
    let directory = tempfile::tempdir().unwrap();
    for (name, table, other) in [
        ("one", "dependencies", "two"),
        ("two", "dev-dependencies", "one"),
    ] {
        fs::create_dir_all(directory.path().join(name).join("src")).unwrap();
        fs::write(directory.path().join(name).join("src/lib.rs"), "").unwrap();
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n[{table}]\n{other}.path = \"../{other}\"\n"
        );
        fs::write(directory.path().join(name).join("Cargo.toml"), manifest).unwrap();
    }
    let manifest = directory.path().join("Cargo.toml");
    fs::write(
        &manifest,
        "[workspace]\nresolver = \"3\"\nmembers = [\"one\", \"two\"]\n",
    )
    .unwrap();
    let run = |options: &[&str]| {
        let mut arguments = vec!["--manifest-path", manifest.to_str().unwrap()];
        arguments.extend(options);
        program(&arguments)
    };
    for members in [&["--members"][..], &[]] {
        let output = run(members);
        assert!(output.status.success(), "{output:?}");
        let output = run(&[members, &["--dev"]].concat());
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stdout(&output).contains("cycle: one -> two -> one"),
            "{output:?}"
        );
    }
}

#[test]
fn a_chain_of_many_targets_does_not_overflow_the_stack() {
    const LENGTH: usize = 10_000;
    let mut text: String = (1..LENGTH)
        .map(|n| format!("{n:05}: {:05}\n", n - 1))
        .collect();
    text.push_str("00000:\n");
    let graph = Graph::parse(text.as_bytes()).unwrap().unwrap();
    let mut targets = Targets::new(graph, 2, 0).unwrap();
    let last = targets.graph().target("09999").unwrap();
    assert_eq!(targets.facts(last).unwrap().depth, LENGTH as u32 - 1);
    // And now it is a ring.
    let change = targets.graph().parse_change("00000: 09999").unwrap();
    targets.apply(&change);
    let error = targets.facts(last).unwrap_err();
    assert_eq!(error.cycle().path().len(), LENGTH);
}

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_query-engine"))
        .args(arguments)
        .output()
        .unwrap()
}

// As with `query-engine … | head -0`: it panicked, and so did not say that there is a cycle.
#[test]
fn a_reader_that_wants_no_output_changes_no_status() {
    for (graph, expected) in [("build.graph", 0), ("ring.graph", 1)] {
        let graph = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("graphs")
            .join(graph);
        let mut command = Command::new(env!("CARGO_BIN_EXE_query-engine"));
        command
            .arg(graph)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &*message), (Some(expected), ""));
    }
}

fn stdout(output: &Output) -> &str {
    str::from_utf8(&output.stdout).unwrap()
}

#[track_caller]
fn assert_refused(arguments: &[&str], message: &str) {
    let output = program(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let stderr = str::from_utf8(&output.stderr).unwrap();
    assert!(stderr.contains(message), "{message:?} is not in {stderr:?}");
    assert!(output.stdout.is_empty());
}

struct File {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl File {
    fn new(contents: impl AsRef<[u8]>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("graph");
        fs::write(&path, contents).unwrap();
        Self {
            path,
            _directory: directory,
        }
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

#[test]
fn bad_files_are_refused_with_the_line() {
    assert_refused(
        &["/no/such/file"],
        "query-engine: /no/such/file: No such file",
    );
    assert_refused(&["/"], "query-engine: /: Is a directory");
    for (contents, message) in [
        (&b"a:\nb: \xC3(\n"[..], ":2: not UTF-8"),
        (
            b"# graph\na b\n",
            ":2: no colon; expected `target: dependency dependency`",
        ),
        (b": a\n", ":1: no target before the colon"),
        (b"a b: c\n", ":1: more than one target before the colon"),
        (b"a: b: c\n", ":1: dependency `b:` has a colon"),
        (b"a:\nb:\n\na: b\n", ":4: target `a` is already on line 1"),
        (b"a:\nb: a c\n", ":2: dependency `c` is not a target"),
        (b"# nothing\n\n", ": no targets"),
        (b"", ": no targets"),
    ] {
        let file = File::new(contents);
        assert_refused(&[file.path()], &format!("{}{message}\n", file.path()));
    }
}

#[test]
fn errors_of_the_library_are_typed() {
    let missing = Graph::read(Path::new("/no/such/file"));
    assert!(matches!(missing, Err(GraphError::Read { .. })));
    let file = File::new("a\n");
    let Err(GraphError::Line {
        line: 1,
        source: LineError::NoColon,
        ..
    }) = Graph::read(&file.path)
    else {
        panic!("a line without a colon")
    };
}

#[test]
fn bad_arguments_are_refused() {
    let file = File::new("a: b\nb:\n");
    let file = file.path();
    assert_refused(&[file, "--only", "c"], "--only: no target `c`");
    assert_refused(&[file, "--change", "c"], "--change `c`: no target `c`");
    let message = "--change `a: c`: dependency `c` is not a target";
    assert_refused(&[file, "--change", "b", "--change", "a: c"], message);
    assert_refused(&[file, "--members"], "cannot be used with");
    assert_refused(&[file, "--threads", "many"], "invalid value 'many'");
    assert_refused(
        &[file, "--threads", "100000"],
        "the thread pool cannot be built",
    );
    assert_refused(
        &["--manifest-path", "/no/Cargo.toml"],
        "`/no/Cargo.toml` does not exist",
    );
    let file = File::new("[package]");
    assert_refused(&["--manifest-path", file.path()], "cargo metadata");
}

/// Runs each command of the README, and compares what it prints with what is there.
#[test]
fn the_readme_shows_what_the_program_prints() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(directory.join("README.md")).unwrap();
    let sessions: Vec<_> = readme.split("```console\n").skip(1).collect();
    assert!(!sessions.is_empty());
    let mut commands = 0;
    for session in sessions {
        let (session, _) = session.split_once("```").unwrap();
        for command in session.split("$ ").skip(1) {
            let (command, expected) = command.split_once('\n').unwrap();
            let arguments = command
                .strip_prefix("cargo run -q -p query-engine -- ")
                .unwrap();
            let arguments = words(arguments);
            let output = Command::new(env!("CARGO_BIN_EXE_query-engine"))
                .args(&arguments)
                .current_dir(directory.join("../.."))
                .output()
                .unwrap();
            let printed = [stdout(&output), str::from_utf8(&output.stderr).unwrap()].concat();
            assert_eq!(printed.trim_end(), expected.trim_end(), "{arguments:?}");
            commands += 1;
        }
    }
    assert!(commands >= 3);
}

/// Splits a command line at spaces that are not in single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
