use std::{
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use super::*;
use crate::{ShutdownError, ThreadPoolBuilder, driver::Pool, system};

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

/// Reproduces a bug: the handle of each thread of a driver was kept until the end of the pool, and
/// with it the stack of a thread that had ended.
#[test]
fn a_driver_that_starts_threads_keeps_none_that_has_ended() {
    const THREADS: usize = 20;
    if !system::JOINS_AT_ONCE {
        return;
    }
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let registry = pool.registry();
    let threads = &registry.data().threads;
    let kept = || lock(&threads.handles).len();
    let before = kept();
    for _ in 0..THREADS {
        Pool(registry).spawn_thread("ends", |_| ()).unwrap();
        // It has stopped, and then is about to end.
        while lock(&threads.running).threads > before + 1 {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(1));
    }
    assert!(kept() < before + THREADS, "{} are kept", kept() - before);
}

/// Reproduces a bug: a shutdown returned while another thread was about to start the threads.
#[test]
fn the_end_of_a_lazy_pool_waits_for_a_thread_that_starts_its_threads() {
    let builder = ThreadPoolBuilder::new().num_threads(1).lazy_threads();
    let pool = builder.build().unwrap();
    let handle = pool.handle();
    assert_eq!(handle.wait_until_stopped(), Ok(()), "it was not used");
    // As `LazyThreads::start` does first.
    assert!(pool.registry().try_add_reference());
    let early = pool.shutdown_timeout(Duration::ZERO);
    assert_eq!(early, Err(ShutdownError::TimedOut));
    thread::scope(|threads| {
        let waiting = threads.spawn(|| handle.wait_until_stopped());
        thread::sleep(Duration::from_millis(5));
        assert!(!waiting.is_finished());
        pool.registry().remove_reference();
        assert_eq!(waiting.join().unwrap(), Ok(()));
    });
    assert_eq!(pool.shutdown_timeout(Duration::MAX), Ok(()));
}
