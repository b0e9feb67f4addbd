//! What several processes find, against what one thread finds.

#[allow(dead_code, reason = "each program of tests uses some of it")]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use dedup_cluster::{Event, Options, Report, Statistics, run};
use support::{PROGRAM, assert_agrees, expected, options, tree_of_files};

fn start(options: &Options) -> Report {
    run(options, |_, _, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn sum(report: &Report, value: impl Fn(&Statistics) -> u64) -> u64 {
    report.processes.iter().map(value).sum()
}

#[test]
fn one_to_four_processes_find_what_one_thread_finds() {
    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 400);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pool-core");
    for (tree, least) in [(directory.path(), 400), (&sources, 20)] {
        let tree = tree.to_owned();
        for processes in 1..=4 {
            let report = start(&options(processes, &tree));
            assert_agrees(&report, std::slice::from_ref(&tree));
            assert_eq!(report.processes.len(), processes);
            let files = sum(&report, |process| process.files);
            assert!(files >= least, "{files}");
            assert_eq!(sum(&report, |process| process.digests), files);
            let has_share = |process: &Statistics| process.files > 0 && process.digests > 0;
            assert!(report.processes.iter().all(has_share), "{report:?}");
            let is_connected = |process: &Statistics| process.sent > 0 && process.received > 0;
            assert_eq!(report.processes.iter().all(is_connected), processes > 1);
        }
    }
}

// The first process has one file, the second one many. Their digests meet all the same.
#[test]
fn each_process_may_read_a_tree_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let trees = ["one", "many"].map(|name| directory.path().join(name));
    tree_of_files(&trees[1], 200);
    fs::create_dir(&trees[0]).unwrap();
    fs::copy(trees[1].join("1/1 %\n.txt"), trees[0].join("copy")).unwrap();
    let mut options = options(2, &trees[0]);
    options.trees = trees.to_vec();
    let report = start(&options);
    assert_agrees(&report, &trees);
    let files: Vec<_> = report.processes.iter().map(|p| p.files).collect();
    assert_eq!(files, [1, 200]);
    assert!(report.processes.iter().all(|process| process.digests > 50));
}

#[test]
fn a_second_run_hashes_only_what_is_new_or_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let (tree, lists) = (
        directory.path().join("tree"),
        directory.path().join("lists"),
    );
    tree_of_files(&tree, 100);
    let mut options = options(3, &tree);
    options.lists = Some(lists);
    let count = |report: &Report| (sum(report, |p| p.files), sum(report, |p| p.known));
    assert_eq!(count(&start(&options)), (100, 0));

    fs::write(tree.join("new"), "100\n").unwrap();
    fs::write(tree.join("0/7 %\n.txt"), "changed").unwrap();
    fs::remove_file(tree.join("1/8 %\n.txt")).unwrap();
    // The lists serve any number of processes.
    options.processes = 2;
    let report = start(&options);
    assert_agrees(&report, std::slice::from_ref(&tree));
    assert_eq!(count(&report), (2, 98));
    assert_eq!(count(&start(&options)), (0, 100));
}

#[test]
fn an_empty_tree_has_no_duplicates() {
    let directory = tempfile::tempdir().unwrap();
    let mut total = None;
    let report = run(&options(2, directory.path()), |process, event, _| {
        if let (0, Event::Total { files, bytes }) = (process, event) {
            total = Some((*files, *bytes));
        }
    });
    assert!(report.unwrap().groups.is_empty());
    assert_eq!(total, Some((0, 0)));
}

fn program(arguments: &[&Path]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

#[test]
fn the_program_reports_and_writes_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (tree, file) = (directory.path().join("tree"), directory.path().join("json"));
    tree_of_files(&tree, 80);
    let arguments = ["-n", "2", "--report"].map(Path::new);
    let output = program(&[&arguments[..], &[&file, &tree]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let groups = expected(std::slice::from_ref(&tree));
    // However wide the columns are.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = format!("in {} groups", groups.len());
    for line in ["files 80", &count, "unreadable 0", "process worker active"] {
        assert!(text.contains(line), "{line:?} is not in:\n{text}");
    }
    let report: Report = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(report.duplicates().unwrap().groups, groups);
}

// As with `dedup-cluster | head -0`: it panicked.
#[test]
fn a_reader_that_wants_no_output_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["-n", "1"]).arg(directory.path());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    drop(process.stdout.take());
    let output = process.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert_eq!(message, "");
}

// The same relative path, size and time, but in another directory.
#[test]
fn lists_tell_files_of_the_same_name_from_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    for (name, contents) in [("here", "1"), ("there", "2")] {
        fs::create_dir_all(path(name).join("tree")).unwrap();
        let file = path(name).join("tree/file");
        fs::write(&file, contents).unwrap();
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(time).unwrap();
    }
    let lines = |name: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(["-n", "1", "--lists"]).arg(path("lists"));
        command.arg("tree").current_dir(path(name));
        assert!(command.output().unwrap().status.success());
        let list = fs::read_to_string(path("lists/0.digests")).unwrap();
        list.lines().count()
    };
    assert_eq!(["here", "here", "there", "there"].map(lines), [1, 1, 2, 2]);
}

// A file in two trees would be listed as a duplicate of itself, for the user to remove.
#[test]
fn trees_with_files_in_common_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir_all(path("tree/inner")).unwrap();
    fs::create_dir_all(path("tree-2")).unwrap();
    fs::write(path("tree/inner/only"), "once").unwrap();
    let run = |trees: [&str; 2]| {
        let mut command = Command::new(PROGRAM);
        command.args(["-n", "2", "--"]).args(trees);
        command.current_dir(directory.path()).output().unwrap()
    };
    for trees in [
        ["tree", "tree"],
        ["tree", "./tree/inner"],
        ["tree-2/../tree/inner", "tree"],
    ] {
        let output = run(trees);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{trees:?}: {message}");
        let expected = format!("{} and {} have files in common", trees[0], trees[1]);
        assert!(message.contains(&expected), "{message}");
        assert!(output.stdout.is_empty());
    }
    assert!(run(["tree", "tree-2"]).status.success());
}

#[test]
fn a_report_that_cannot_be_written_is_printed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 20);
    let arguments = ["--report", "/no/such/directory/report"].map(Path::new);
    let output = program(&[&arguments[..], &[directory.path()]].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("/no/such/directory/report: "), "{message}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("process"), "{text}");
}

#[test]
fn wrong_arguments_are_errors() {
    let directory = tempfile::tempdir().unwrap();
    let hosts: PathBuf = directory.path().join("hosts");
    fs::write(&hosts, "127.0.0.1:1\n").unwrap();
    let hosts = hosts.to_str().unwrap();
    let cases: [(&[&str], &str); 6] = [
        (&["-n", "0", "."], "0 is not in 1.."),
        (&["-n", "3", ".", "."], "2 paths for 3 processes"),
        (&["/no/such/directory"], "/no/such/directory: No such file"),
        (
            &["-n", "2", "--hosts", hosts, "."],
            "1 addresses for 2 processes",
        ),
        (
            &["-n", "2", "--hosts", hosts, "--process", "0", "."],
            "1 addresses for 2 processes",
        ),
        (
            &["-n", "1", "--hosts", hosts, "--process", "1", "."],
            "no process 1 among 1",
        ),
    ];
    for (arguments, expected) in cases {
        let arguments: Vec<_> = arguments.iter().map(Path::new).collect();
        let output = program(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(expected), "{message}");
        assert!(output.stdout.is_empty());
    }
}
