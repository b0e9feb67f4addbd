//! Processes that end in the middle, and ports that are taken.

#[allow(dead_code, reason = "each program of tests uses some of it")]
mod support;

use std::{fs, net::TcpListener};

use dedup_cluster::{ClusterError, Event, run};
use support::{assert_agrees, is_written, options, tree_of_files};

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
    // The held process writes its list, then says how far it is, and holds: so the others cannot
    // come to the end.
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
/// The moment is an event that the processes have said, and some processor time of the victim after
/// that: none while it waits to be told the addresses.
///
/// A run that comes to its end before is no fault, and does not count.
#[test]
#[cfg(target_os = "linux")]
fn a_process_may_be_killed_at_any_moment() {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use support::{has_ended, processor_time};

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
    let report = run(&options(3, &tree), |_, _, _| {}).unwrap();
    let used = report
        .processes
        .iter()
        .map(|process| process.processor.unwrap());
    let most = Duration::from_secs_f64(used.fold(0.0, f64::max));
    let most = u64::try_from(most.as_nanos()).unwrap().max(1);
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
        let more = Duration::from_nanos(next(most));
        // Each process says that it listens, and what it has to do; then they hash.
        let kill_at = next(6);
        let (mut events, mut kill) = (0, None);
        let result = run(&options, |_, _, children| {
            if events == kill_at {
                let ids = children.ids();
                let id = ids[victim];
                // Liveness: the victim, which needs its parent no more, goes on or ends.
                if let (Some(start), 3..) = (processor_time(id), events) {
                    while !has_ended(id) && processor_time(id).is_some_and(|now| now < start + more)
                    {
                        thread::yield_now();
                    }
                }
                children.kill(victim).unwrap();
                kill = Some((Instant::now(), ids));
            }
            events += 1;
        });
        let end = Instant::now();
        if let Err(error) = result {
            assert!(
                matches!(error, ClusterError::Ended { process, .. } if process == victim),
                "{victim} was killed: {error}"
            );
            let (kill, ids) = kill.unwrap();
            for id in ids {
                assert!(has_ended(id), "{id} is left");
            }
            slowest = slowest.max(end - kill);
            killed += 1;
        }
        let report = run(&options, |_, _, _| {}).unwrap_or_else(|error| panic!("{error}"));
        assert_agrees(&report, std::slice::from_ref(&tree));
    }
    println!("{killed} of {attempts} runs were killed; the slowest ended {slowest:?} later");
}
