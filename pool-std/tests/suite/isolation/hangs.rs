//! Waits that hang, each as a process of its own.

use std::{io, process::Stdio};

use super::*;
use crate::again;

/// How long a program that hangs is watched.
const HANGS: Duration = Duration::from_secs(3);

#[test]
fn a_lock_held_across_a_join_that_is_not_isolated_hangs() {
    if again::is_child() {
        let pool = pool(2);
        hold_a_lock(&pool, Duration::MAX, |body| pool.install(body));
        return;
    }
    assert!(!ends("a_lock_held_across_a_join_that_is_not_isolated_hangs").unwrap());
}

/// Waits for a detached job, in a way that runs other jobs if it may.
fn wait_for_a_detached_job(isolation: Isolation) {
    let other = pool(1);
    pool(1).install(|| {
        with_isolation(isolation, || {
            let (sender, receiver) = mpsc::channel();
            pool_std::spawn(move || sender.send(()).unwrap());
            other.install(move || receiver.recv().unwrap());
        });
    });
}

#[test]
fn a_detached_job_that_an_isolated_call_waits_for_hangs() {
    if again::is_child() {
        return wait_for_a_detached_job(Isolation::Subtree);
    }
    wait_for_a_detached_job(Isolation::Anything);
    assert!(!ends("a_detached_job_that_an_isolated_call_waits_for_hangs").unwrap());
}

/// Waits for a job that has spawned another one on its thief's deque, and waits for that.
fn wait_for_a_job_of_a_thief(isolation: Isolation) {
    let [has_begun, inner_has_run] = [(); 2].map(|()| AtomicBool::new(false));
    pool(2).install(|| {
        with_isolation(isolation, || {
            pool_std::scope(|scope| {
                scope.spawn(|scope| {
                    has_begun.store(true, SeqCst);
                    scope.spawn(|_| inner_has_run.store(true, SeqCst));
                    wait_for(&inner_has_run);
                });
                wait_for(&has_begun);
            });
        });
    });
}

#[test]
fn a_job_of_a_thief_that_a_call_takes_no_jobs_from_hangs() {
    if again::is_child() {
        return wait_for_a_job_of_a_thief(Isolation::Nothing);
    }
    for isolation in [Isolation::Anything, Isolation::Subtree] {
        wait_for_a_job_of_a_thief(isolation);
    }
    assert!(!ends("a_job_of_a_thief_that_a_call_takes_no_jobs_from_hangs").unwrap());
}

/// Runs a test as a process of its own. Returns whether it ends in time.
fn ends(name: &str) -> io::Result<bool> {
    let mut child = again::child(&format!("isolation::hangs::{name}"));
    let mut child = child.stdout(Stdio::null()).spawn()?;
    let begin = Instant::now();
    while begin.elapsed() < HANGS {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}
