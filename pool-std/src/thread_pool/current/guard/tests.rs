//! Which guards add a reference to their pool.

use std::{
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::Duration,
};

use crate::{
    ThreadPool, ThreadPoolBuilder, block_in_place, in_place_scope, in_place_scope_fifo, join,
    platform::WorkerThread, scope, worker::current_worker_of,
};

fn pool(workers: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    builder.max_blocking_threads(1).build().unwrap()
}

/// Returns the number of references to a pool without those that this worker keeps.
fn references(pool: &ThreadPool) -> usize {
    let worker = current_worker_of(pool.registry());
    let kept = worker.map_or(0, WorkerThread::num_kept_references);
    pool.registry().num_references() - kept
}

/// Checks that a scope adds this many references to a pool, and removes them.
fn assert_added(pool: &ThreadPool, expected: usize, in_scope: impl FnOnce() + Send) {
    let before = references(pool);
    scope(|_| {
        assert_eq!(references(pool) - before, expected);
        in_scope();
        assert_eq!(references(pool) - before, expected);
    });
    assert_eq!(references(pool), before);
}

#[test]
fn a_scope_in_another_one_adds_no_reference() {
    let pool = pool(1);
    let before = references(&pool);
    pool.install(|| {
        assert_added(&pool, 1, || {
            assert_added(&pool, 0, || assert_added(&pool, 0, || ()));
            let here = references(&pool);
            in_place_scope(|_| assert_eq!(references(&pool), here));
            in_place_scope_fifo(|_| assert_eq!(references(&pool), here));
        });
        assert_added(&pool, 1, || ());
    });
    while references(&pool) > before {
        thread::yield_now();
    }
}

/// The job of a thief is in no frame of the scope that it belongs to.
#[test]
fn a_scope_on_a_thief_adds_a_reference() {
    let pool = pool(2);
    let is_stolen = AtomicBool::new(false);
    let wait_for_thief = || {
        while !is_stolen.load(SeqCst) {
            thread::yield_now();
        }
    };
    pool.install(|| {
        scope(|_| {
            join(wait_for_thief, || {
                is_stolen.store(true, SeqCst);
                assert_added(&pool, 1, || assert_added(&pool, 0, || ()));
            });
        });
    });
}

/// The thread of a worker that is lent may become a worker of another pool, as its guest.
#[test]
fn a_scope_of_another_pool_adds_a_reference_to_that_one() {
    let (pool, other) = (pool(1), pool(1));
    let call_as_guest = || {
        let this_thread = thread::current().id();
        let mut is_guest = false;
        // A caller takes the place of a worker that sleeps.
        while !is_guest {
            is_guest = other.call(|| {
                assert_added(&other, 1, || assert_added(&other, 0, || ()));
                thread::current().id() == this_thread
            });
        }
    };
    pool.install(|| {
        assert_added(&pool, 1, || {
            block_in_place(call_as_guest);
            assert_added(&pool, 0, || ());
        });
    });
}

/// The pool of a scope may be shut down while another scope is in it.
#[test]
fn a_pool_does_not_end_within_nested_scopes() {
    let pool = pool(1);
    pool.install(|| {
        scope(|_| {
            thread::scope(|threads| {
                threads.spawn(|| pool.shutdown_timeout(Duration::ZERO).unwrap_err());
            });
            let mut ran = false;
            scope(|inner| inner.spawn(|_| ran = true));
            assert!(ran);
        });
    });
    pool.shutdown().unwrap();
}
