//! Processes that no `run` of this test looks after: started by hand as on several machines, or by
//! a parent that ends.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "each program of tests uses some of it")]
mod support;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
};

use dedup_cluster::{Event, LOST_PEER, Report};
use support::{
    PROGRAM, assert_agrees, children_of, has_ended, is_written, tree_of_files, wait_until,
};

/// A process that is ended when the test fails.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Guard {
    fn start(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    /// Waits until the process ends by itself. Returns how, and what it has said on both outputs.
    fn end(mut self) -> (ExitStatus, [String; 2]) {
        wait_until("it ends", || self.0.try_wait().unwrap().is_some());
        let read = |output: Option<&mut dyn Read>| {
            let mut said = String::new();
            output.map(|output| output.read_to_string(&mut said).unwrap());
            said
        };
        let out = read(self.0.stdout.as_mut().map(|out| out as _));
        let err = read(self.0.stderr.as_mut().map(|err| err as _));
        (self.0.wait().unwrap(), [out, err])
    }
}

fn start(arguments: &[&str], paths: &[&Path]) -> Guard {
    let mut command = Command::new(PROGRAM);
    Guard::start(command.args(arguments).args(paths).stdin(Stdio::null()))
}

// However a parent ends: here it has no chance to end its children.
#[test]
fn no_process_outlives_its_parent() {
    let directory = tempfile::tempdir().unwrap();
    let (tree, lists) = (
        directory.path().join("tree"),
        directory.path().join("lists"),
    );
    tree_of_files(&tree, 30);
    let arguments = ["-n", "3", "--hold-after", "1", "--lists"];
    let mut parent = start(&arguments, &[&lists, &tree]);
    wait_until("all started", || {
        (0..3).all(|process| is_written(&lists.join(format!("{process}.digests"))))
    });
    let children = children_of(parent.0.id());
    assert_eq!(children.len(), 3);
    parent.0.kill().unwrap();
    wait_until("all ended", || {
        children.iter().all(|child| has_ended(*child))
    });
}

// The test is the parent. Its process waits for the addresses first, and then without end.
#[test]
fn a_process_exits_when_its_standard_input_ends() {
    const LOST_PARENT: i32 = 4;

    let directory = tempfile::tempdir().unwrap();
    tree_of_files(directory.path(), 3);
    for is_told in [false, true] {
        let arguments = ["--launched", "--process", "0", "-n", "1"];
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--hold-after", "3"]);
        command.arg(directory.path()).stdin(Stdio::piped());
        let mut process = Guard::start(&mut command);
        let mut input = process.0.stdin.take().unwrap();
        let mut output = BufReader::new(process.0.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            serde_json::from_str(&line).unwrap()
        };
        let Event::Listening(address) = next() else {
            panic!("it listens first");
        };
        if is_told {
            writeln!(input, r#"{{"run":1,"addresses":["{address}"]}}"#).unwrap();
            while !matches!(next(), Event::Done { files: 3, .. }) {}
        }
        drop(input);
        let (status, [_, said]) = process.end();
        if is_told {
            assert_eq!(status.code(), Some(LOST_PARENT), "{said}");
        } else {
            assert_eq!(status.code(), Some(2));
            assert!(
                said.contains("the parent of this process: it has ended"),
                "{said}"
            );
        }
    }
}

/// Returns a file with addresses on which no other program and no other test listens: each process
/// and each test has addresses of its own, of which the system gives none away.
fn hosts(directory: &Path) -> PathBuf {
    static LAST: AtomicUsize = AtomicUsize::new(1);
    let process = std::process::id();
    let addresses = [(); 2].map(|()| {
        // A plain counter.
        let last = LAST.fetch_add(1, Ordering::Relaxed);
        let host = format!("127.{}.{}.{last}", 1 + process / 256 % 250, process % 256);
        let listener = TcpListener::bind(format!("{host}:0")).unwrap();
        listener.local_addr().unwrap().to_string()
    });
    let hosts = directory.join("hosts");
    fs::write(&hosts, addresses.join("\n")).unwrap();
    hosts
}

// As on several machines: no parent starts them.
#[test]
fn processes_that_were_started_by_hand_find_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let (tree, report) = (directory.path().join("tree"), directory.path().join("json"));
    tree_of_files(&tree, 60);
    let hosts = hosts(directory.path());
    let arguments = |process| ["-n", "2", "--process", process, "--report"];
    let processes = ["1", "0"].map(|process| {
        let paths = [&report, Path::new("--hosts"), &hosts, &tree];
        start(&arguments(process), &paths)
    });
    for process in processes {
        let (status, said) = process.end();
        assert!(status.success(), "{said:?}");
    }
    let report: Report = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert_agrees(&report, &[tree]);
}

#[test]
fn a_process_without_a_parent_ends_when_another_one_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (tree, lists, report) = (path("tree"), path("lists"), path("json"));
    tree_of_files(&tree, 60);
    let hosts = hosts(directory.path());
    let paths = [
        &lists,
        Path::new("--report"),
        &report,
        Path::new("--hosts"),
        &hosts,
        &tree,
    ];
    let first = start(&["-n", "2", "--process", "0", "--lists"], &paths);
    let held = ["-n", "2", "--process", "1", "--hold-after", "1", "--lists"];
    let second = start(&held, &paths);
    wait_until("the second one holds", || {
        is_written(&lists.join("1.digests"))
    });
    drop(second);
    assert_lost_peer(first, 1);
    assert!(!report.exists());
}

/// Waits until a process ends because it has lost the connection to another one. It has printed no
/// report.
#[track_caller]
fn assert_lost_peer(process: Guard, peer: usize) {
    let (status, [out, said]) = process.end();
    assert_eq!(status.code(), Some(LOST_PEER.into()), "{said}");
    let lost = format!("lost the connection to process {peer}: ");
    assert!(said.contains(&lost), "{said}");
    assert!(out.is_empty(), "{out}");
}

// Each process has files to hash, and one of them may write no file: its disk is full, so to speak.
// The other one cannot come to the end either.
#[test]
fn a_process_that_cannot_write_its_list_ends_and_no_process_reports() {
    for failing in 0..2 {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let (tree, lists, report) = (path("tree"), path("lists"), path("json"));
        tree_of_files(&tree, 60);
        let hosts = hosts(directory.path());
        let [first, second] = [0, 1].map(|process| {
            // Beyond its limit, which is 0 bytes, a write is an error if the signal is ignored.
            let limit = "trap '' XFSZ; ulimit -f 0;";
            let limit = if process == failing { limit } else { "" };
            let mut command = Command::new("sh");
            command.args(["-c", &format!("{limit} exec \"$@\""), "sh", PROGRAM]);
            command.args(["-n", "2", "--process", &process.to_string()]);
            command.arg("--lists").arg(&lists);
            command.arg("--report").arg(&report);
            command.arg("--hosts").arg(&hosts).arg(&tree);
            Guard::start(command.stdin(Stdio::null()))
        });
        let (failed, other) = match failing {
            0 => (first, second),
            _ => (second, first),
        };
        let (status, [out, said]) = failed.end();
        assert_eq!(status.code(), Some(2), "{said}");
        let list = lists.join(format!("{failing}.digests"));
        let error = format!("dedup-cluster: {}: File too large", list.display());
        assert!(said.contains(&error), "{said}");
        assert!(out.is_empty(), "{out}");
        assert_lost_peer(other, failing);
        let left: Vec<_> = fs::read_dir(directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 3, "the tree, the lists, the hosts: {left:?}");
    }
}
