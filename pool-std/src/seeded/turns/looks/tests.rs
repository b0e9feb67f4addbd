use std::{sync::mpsc, thread};

use super::*;

// Old versions of Android's C library do not have `posix_spawnp`, which starts the child.
#[cfg(target_os = "linux")]
mod kept;

/// On a busy machine there are few looks: two of them ended a turn, and the order of a seed varied.
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
    // Liveness: the member waits, so that its turn ends after enough looks.
    while !looks.look() {
        thread::sleep(LOOK);
    }
    drop(end);
    waiter.join().unwrap();
}

/// Reproduces a bug: a look panicked if a thread had the number of one that had ended, and had used
/// less processor time than that one.
#[test]
fn a_thread_that_has_used_less_time_than_before_has_computed_for_none() {
    let mut looks = Looks::new(SystemThread::current(), 1);
    looks.time = looks.time.map(|time| time + Duration::from_secs(1000));
    assert!(!looks.look());
}
