use std::{sync::mpsc, thread};

use super::*;

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
