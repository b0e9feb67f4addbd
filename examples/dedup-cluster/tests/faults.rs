//! Processes that end in the middle, and ports that are taken.

#[allow(dead_code, reason = "each program of tests uses some of it")]
mod support;

use std::{fs, net::TcpListener, path::Path};

use dedup_cluster::{ClusterError, Event, run};
use support::{assert_agrees, options, tree_of_files};

fn is_written(list: &Path) -> bool {
    list.metadata().is_ok_and(|metadata| metadata.len() > 0)
}

/// Runs three processes, of which one stops in the middle and one is then killed. Runs them again.
fn kill_and_restart(held: usize, victim: usize) {
    let directory = tempfile::tempdir().unwrap();
    let (tree, lists) = (
        directory.path().join("tree"),
        directory.path().join("lists"),
    );
    tree_of_files(&tree, 60);
    let mut options = options(3, &tree);
    options.lists = Some(lists.clone());
    let list = lists.join(format!("{held}.digests"));
    // The held process writes its list, then says how far it is, and holds: so the others cannot come to the end.
    (options.held, options.hold_after) = (Some(held), Some(1));
    let mut ids = Vec::new();
    let error = run(&options, |process, event, children| {
        let is_held = process == held && matches!(event, Event::Done { .. });
        if is_held && is_written(&list) {
            ids = children.ids();
            children.kill(victim).unwrap();
        }
    });
    let error = error.unwrap_err();
    assert!(
        matches!(error, ClusterError::Ended { process, .. } if process == victim),
        "{victim} was killed: {error}"
    );
    let message = error.to_string();
    assert!(
        message.starts_with(&format!("process {victim} ended early: ")),
        "{message}"
    );
    assert_eq!(ids.len(), 3);
    #[cfg(target_os = "linux")]
    for id in ids {
        assert!(support::has_ended(id), "{id} is left");
    }

    options.hold_after = None;
    let report = run(&options, |_, _, _| {}).unwrap_or_else(|error| panic!("{error}"));
    assert_agrees(&report, &[tree]);
    let known: u64 = report.processes.iter().map(|process| process.known).sum();
    let files: u64 = report.processes.iter().map(|process| process.files).sum();
    assert_eq!(known + files, 60);
    assert!(known >= 1, "the list of process {held} was not used");
}

#[test]
fn a_killed_process_is_named_and_a_restart_ends_the_work() {
    for (held, victim) in [(1, 0), (0, 1), (0, 2), (2, 2)] {
        kill_and_restart(held, victim);
    }
}

// Before the processes are connected, the others would wait for the killed one for a minute.
#[test]
fn a_process_that_is_killed_at_the_start_is_named() {
    let directory = tempfile::tempdir().unwrap();
    for victim in 0..3 {
        let mut is_killed = false;
        let result = run(&options(3, directory.path()), |_, event, children| {
            if matches!(event, Event::Listening(_)) && !is_killed {
                is_killed = true;
                children.kill(victim).unwrap();
            }
        });
        let error = result.unwrap_err();
        assert!(
            matches!(error, ClusterError::Ended { process, .. } if process == victim),
            "{victim} was killed: {error}"
        );
    }
}

#[test]
fn a_taken_port_is_an_error_of_its_process() {
    let directory = tempfile::tempdir().unwrap();
    let taken: Vec<_> = (0..2)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let addresses: Vec<_> = taken
        .iter()
        .map(|listener| listener.local_addr().unwrap().to_string())
        .collect();
    let hosts = directory.path().join("hosts");
    fs::write(&hosts, addresses.join("\n")).unwrap();
    let mut options = options(2, directory.path());
    options.hosts = Some(hosts);
    let error = run(&options, |_, _, _| {}).unwrap_err();
    let ClusterError::Ended { process, said, .. } = &error else {
        panic!("{error}");
    };
    let expected = format!("cannot listen on {}: ", addresses[*process]);
    assert!(said.contains(&expected), "{error}");
}

#[test]
fn a_program_that_is_not_there_is_not_started() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(2, directory.path());
    options.program = "/no/such/program".into();
    let error = run(&options, |_, _, _| {}).unwrap_err();
    assert!(
        matches!(error, ClusterError::Start { process: 0, .. }),
        "{error}"
    );
}

/// Kills a random process at a random moment of a run, as often as `CLUSTER_KILLS` says.
///
/// A run that comes to its end before is no fault, and does not count.
#[test]
#[cfg(target_os = "linux")]
fn a_process_may_be_killed_at_any_moment() {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    let kills = std::env::var("CLUSTER_KILLS").map_or(4, |kills| kills.parse().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    tree_of_files(&tree, 20 * kills.clamp(10, 1000));
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % bound
    };
    let start = Instant::now();
    run(&options(3, &tree), |_, _, _| {}).unwrap();
    let length = u64::try_from(start.elapsed().as_micros()).unwrap();
    let (mut killed, mut attempts, mut slowest) = (0, 0, Duration::ZERO);
    while killed < kills {
        attempts += 1;
        assert!(
            attempts < 1000 + 20 * kills,
            "{killed} of {attempts} runs were killed"
        );
        let lists = directory.path().join(format!("lists {attempts}"));
        let mut options = options(3, &tree);
        options.lists = Some(lists);
        let victim = usize::try_from(next(3)).unwrap();
        let delay = Duration::from_micros(next(length));
        // Each process says that it listens, and what it has to do; then they hash.
        let mut events_before = next(6);
        let mut kill = None;
        let result = run(&options, |_, _, children| {
            if kill.is_none() && events_before == 0 {
                thread::sleep(delay);
                children.kill(victim).unwrap();
                kill = Some((Instant::now(), children.ids()));
            }
            events_before = events_before.saturating_sub(1);
        });
        let end = Instant::now();
        if let Err(error) = result {
            assert!(
                matches!(error, ClusterError::Ended { process, .. } if process == victim),
                "{victim} was killed: {error}"
            );
            let (kill, ids) = kill.unwrap();
            for id in ids {
                assert!(support::has_ended(id), "{id} is left");
            }
            slowest = slowest.max(end - kill);
            killed += 1;
        }
        let report = run(&options, |_, _, _| {}).unwrap_or_else(|error| panic!("{error}"));
        assert_agrees(&report, std::slice::from_ref(&tree));
    }
    println!("{killed} of {attempts} runs were killed; the slowest ended {slowest:?} later");
}

/// Processes that other processes see from outside.
#[cfg(target_os = "linux")]
mod linux {
    use std::{
        path::PathBuf,
        process::{Child, Command, Stdio},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use dedup_cluster::{LOST_PEER, Report};

    use super::*;
    use crate::support::{PROGRAM, children_of, has_ended, wait_until};

    /// A process that is ended when the test fails.
    struct Guard(Child);

    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn start(arguments: &[&str], paths: &[&Path]) -> Guard {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(paths);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Guard(command.stderr(Stdio::piped()).spawn().unwrap())
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

    /// Returns a file with addresses on which no other program and no other test listens: each process and each
    /// test has addresses of its own, of which the system gives none away.
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
        let mut processes = ["1", "0"].map(|process| {
            let paths = [&report, Path::new("--hosts"), &hosts, &tree];
            start(&arguments(process), &paths)
        });
        for process in &mut processes {
            assert!(process.0.wait().unwrap().success());
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
        let mut first = first;
        let status = first.0.wait().unwrap();
        let mut said = String::new();
        let mut errors = first.0.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut errors, &mut said).unwrap();
        assert_eq!(status.code(), Some(LOST_PEER.into()), "{said}");
        assert!(
            said.contains("lost the connection to process 1: "),
            "{said}"
        );
        assert!(!report.exists());
    }
}
