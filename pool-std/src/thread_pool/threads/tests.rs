use std::{
    sync::{Arc, mpsc},
    thread,
};

use super::*;

// The thread that ends may need the list of threads.
#[test]
fn no_lock_is_held_while_a_thread_is_waited_for() {
    let owner = Arc::new(Threads::default());
    let (is_listed, wait) = mpsc::channel();
    let threads = owner.clone();
    owner.keep_thread(thread::spawn(move || {
        wait.recv().unwrap();
        // Until the list is taken; then it can be locked, although this thread has not ended.
        while !lock(&threads.handles).is_empty() {
            thread::yield_now();
        }
    }));
    is_listed.send(()).unwrap();
    owner.wait_until_stopped(&ThreadHandlers::default());
}

// A destructor of the thread may build the other one, and end it.
#[test]
fn a_thread_does_not_belong_to_a_later_pool_at_the_same_address() {
    let mut threads = Threads::default();
    let _belonging = Belonging::begin(&threads);
    assert!(threads.have_this_one());
    threads = Threads::default();
    assert!(!threads.have_this_one());
}
