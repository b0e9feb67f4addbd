use std::{
    panic::{catch_unwind, panic_any},
    sync::{
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use super::*;
use crate::{ThreadPoolBuilder, block_in_place, current_thread_index, platform::WorkerThread};

/// A limit that only ends a test that fails.
const LIMIT: Duration = Duration::from_secs(120);

// The situation if the thread of a spare that was just started ended before its first step.
#[test]
fn a_spare_whose_thread_is_gone_returns_its_worker() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let gone = Arc::<Spare>::default();
    let is_worker = pool.install(|| {
        gone.mark_gone();
        // SAFETY: 1. the thread stays the worker until the closure returns.
        let worker = unsafe { WorkerThread::current() }.unwrap();
        // SAFETY: 1. the closures use no worker.
        unsafe { worker.lend(|lent| gone.give(lent), || ()) };
        pool.current_thread_index()
    });
    assert_eq!(is_worker, Some(0));
    pool.shutdown().unwrap();
}

// A call that ended early waited for a thread that had not begun to run.
#[test]
fn a_worker_is_taken_back_from_a_spare_that_has_not_begun() {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (spare, has_begun) = (Arc::<Spare>::default(), Arc::<AtomicBool>::default());
    let is_worker = pool.install(|| {
        // SAFETY: 1. the thread stays the worker until the closure returns.
        let worker = unsafe { WorkerThread::current() }.unwrap();
        // No thread takes the order.
        //
        // SAFETY: 1. the closures use no worker.
        unsafe { worker.lend(|lent| spare.give(lent), || spare.take_back()) };
        let (runs, begins) = (spare.clone(), has_begun.clone());
        let thread = thread::spawn(move || runs.run(|| begins.store(true, SeqCst)));
        let wait = || {
            while !has_begun.load(SeqCst) {
                thread::yield_now();
            }
            spare.take_back();
        };
        // The thread runs the order that follows, and returns the worker itself.
        //
        // SAFETY: 1. the closures use no worker.
        unsafe { worker.lend(|lent| spare.give(lent), wait) };
        spare.order(Order::End);
        thread.join().unwrap();
        pool.current_thread_index()
    });
    assert_eq!(is_worker, Some(0));
    pool.shutdown().unwrap();
}

#[test]
fn a_call_waits_for_no_spare_that_has_not_begun() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    // No thread runs this spare.
    let idle = Arc::<Spare>::default();
    pool.registry().data().spares.put_back(idle.clone());
    let (sender, ends) = mpsc::channel();
    pool.spawn(move || {
        let is_lent = block_in_place(|| current_thread_index().is_none());
        let panics = || block_in_place(|| panic_any("on purpose"));
        let panic = catch_unwind(panics).unwrap_err();
        let message = *panic.downcast::<&str>().unwrap();
        sender
            .send((is_lent, message, current_thread_index()))
            .unwrap();
    });
    let ended = ends.recv_timeout(LIMIT);
    assert_eq!(ended, Ok((true, "on purpose", Some(0))));
    // The list has the spare again, and a job of the worker runs.
    assert_eq!(pool.install(|| block_in_place(|| 7)), 7);
    let taken = pool.registry().data().spares.take(|| unreachable!());
    assert!(Arc::ptr_eq(&idle, &taken.unwrap()));
    pool.shutdown().unwrap();
}

#[test]
fn a_spare_that_is_gone_is_not_taken() {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let spares = &pool.registry().data().spares;
    let gone = Arc::<Spare>::default();
    gone.mark_gone();
    spares.put_back(gone.clone());
    let taken = spares.take(|| pool.registry.clone()).unwrap();
    assert!(!Arc::ptr_eq(&taken, &gone));
    spares.put_back(taken);
    pool.shutdown().unwrap();
}

// The pool ends while its adopted worker is about to start a spare.
#[test]
fn a_shutdown_waits_for_a_spare_that_is_being_started() {
    let has_returned = Arc::new(AtomicBool::new(false));
    let seen = has_returned.clone();
    let (sender, is_late) = mpsc::channel();
    let on_new_thread = thread::spawn(move || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .use_current_thread()
            .max_blocking_threads(1)
            .exit_handler(move |_| sender.send(seen.load(SeqCst)).unwrap())
            .build()
            .unwrap();
        let registry = pool.registry.clone();
        let mut owner = None;
        let spare = registry.data().spares.take(|| {
            let returned = has_returned.clone();
            owner = Some(thread::spawn(move || {
                pool.shutdown().unwrap();
                returned.store(true, SeqCst);
            }));
            // The call may return only when the spare has ended. The number of looks limits the
            // wait, since there is no way to observe that the call waits.
            for _ in 0..10_000 {
                if has_returned.load(SeqCst) {
                    break;
                }
                thread::yield_now();
            }
            registry.clone()
        });
        let spare = spare.unwrap();
        // SAFETY: 1. the thread stays the worker until the calls below return.
        let worker = unsafe { WorkerThread::current() }.unwrap();
        // The exit handler is called for a spare that was used.
        //
        // SAFETY: 1. the closures use no worker.
        unsafe { worker.lend(|lent| spare.give(lent), || ()) };
        registry.data().spares.put_back(spare);
        owner.unwrap().join().unwrap();
    });
    on_new_thread.join().unwrap();
    assert_eq!(is_late.recv_timeout(LIMIT), Ok(false));
}
