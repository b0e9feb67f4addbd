use std::{sync::mpsc, thread};

use super::*;

// The C library of Android has not always had what starts the child.
#[cfg(target_os = "linux")]
mod kept;

/// A busy machine makes looks seldom, and the order of a seed varied.
#[test]
fn two_looks_at_a_worker_that_waits_do_not_take_its_turn() {
    let (send, receive) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    let waiter = thread::spawn(move || {
        send.send(SystemThread::current()).unwrap();
        _ = ended.recv();
    });
    let mut looks = Looks::new(receive.recv().unwrap(), 1);
    for _ in 0..3 {
        thread::sleep(2 * BLOCKED);
        assert!(!looks.look());
    }
    // Liveness: the member waits, and the looks are enough at some time.
    while !looks.look() {
        thread::sleep(LOOK);
    }
    drop(end);
    waiter.join().unwrap();
}

/// Reproduces a bug: a thread that has the number of one that has ended, and has used less time,
/// made the look panic.
#[test]
fn a_thread_that_has_used_less_time_than_before_has_computed_for_none() {
    let mut looks = Looks::new(SystemThread::current(), 1);
    looks.time = looks.time.map(|time| time + Duration::from_secs(1000));
    assert!(!looks.look());
}
