//! A signal that prints what the workers of all pools do. Each test runs itself once more, as a
//! process of its own that hangs.
#![cfg(not(miri))]

use std::{
    io::{BufRead, BufReader, Write as _},
    process::{Command, Stdio},
    sync::mpsc,
};

use crate::again::{self, EndOnDrop};
use pool_std::{BuildError, ThreadPoolBuilder, blocking};

const SIGNAL: &str = "POOL_STD_STATE_SIGNAL";

fn child(name: &str, signal: &str) -> Command {
    let mut child = again::child(&format!("state_signal::{name}"));
    child.env(SIGNAL, signal);
    child
}

#[test]
fn prints_the_states_of_all_pools() {
    if again::is_child() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        other.install(|| ());
        let (_sender, receiver) = mpsc::channel::<()>();
        pool.install(move || {
            blocking("a message that never comes", |_| {
                eprintln!("hangs now");
                receiver.recv().unwrap();
            });
        });
    }
    let mut child = child("prints_the_states_of_all_pools", "USR1");
    let mut child = EndOnDrop(child.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.any(|line| line == "hangs now"));
    for _ in 0..2 {
        let pid = libc::pid_t::try_from(child.0.id()).unwrap();
        // SAFETY: the call has no requirements; the child has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGUSR1) }, 0);
        // The test ends here, or it hangs.
        assert!(lines.any(|line| line == "pool 1: 2 workers, 1 jobs run"));
        assert!(lines.any(|line| line.contains("a message that never comes")));
        assert!(lines.any(|line| line.starts_with("pool 2: 1 workers")));
    }
}

/// A lock that is held across a join is what hangs many a program, and this is a lock.
#[test]
fn prints_although_a_thread_that_hangs_has_the_stream_for_errors() {
    if again::is_child() {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| ());
        let mut errors = std::io::stderr().lock();
        writeln!(errors, "hangs now").unwrap();
        pool.install(|| eprintln!("no job can say anything"));
    }
    let name = "prints_although_a_thread_that_hangs_has_the_stream_for_errors";
    let mut child = child(name, "USR1");
    let mut child = EndOnDrop(child.stderr(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(child.0.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.any(|line| line == "hangs now"));
    let pid = libc::pid_t::try_from(child.0.id()).unwrap();
    // SAFETY: the call has no requirements; the child has not been waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGUSR1) }, 0);
    // The test ends here, or it hangs.
    assert!(lines.any(|line| line.starts_with("pool 1: 1 workers")));
}

#[test]
fn a_signal_that_is_not_one_is_an_error() {
    if again::is_child() {
        let error = ThreadPoolBuilder::new().num_threads(1).build().unwrap_err();
        assert!(
            matches!(error, BuildError::EnvironmentVariable { .. }),
            "{error:?}"
        );
        assert_eq!(
            error.to_string(),
            "the environment variable POOL_STD_STATE_SIGNAL is `KILL`, but must be \
             USR1 or USR2 or HUP or QUIT"
        );
        return;
    }
    let output = child("a_signal_that_is_not_one_is_an_error", "KILL")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
