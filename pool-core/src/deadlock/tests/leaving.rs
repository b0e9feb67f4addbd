//! A worker that leaves, and so completes a deadlock.

use std::{
    boxed::Box,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use progress_core::Operation;
use sleep_core::deadlock::State;

use super::super::*;
use crate::testing::{
    Accounted, TestJec, accounting::accounted, run_until_terminated, with_worker,
};

/// Lets the handler schedule an operation on the worker that leaves, when the only other worker
/// that is not blocked sleeps.
#[test]
fn what_a_handler_schedules_on_a_worker_that_leaves_is_run() {
    let [is_run, is_handled, is_blocked, is_over] =
        [(); 4].map(|()| Arc::new(AtomicBool::new(false)));
    let leaver = Arc::new(Mutex::new(None));
    let registry = accounted::<TestJec>(3, {
        let (is_run, is_handled, leaver) = (is_run.clone(), is_handled.clone(), leaver.clone());
        move |_| {
            if *leaver.lock().unwrap() == Some(thread::current().id()) {
                let is_run = is_run.clone();
                let operation = Operation::new(move || is_run.store(true, SeqCst));
                // SAFETY: 1. it is used here, where this thread is the worker.
                let worker = unsafe { WorkerThread::<Accounted>::current() }.unwrap();
                worker.schedule(Box::new(operation));
                is_handled.store(true, SeqCst);
            }
        }
    });
    let first = registry.worker(0).unwrap();
    let wait_until_first_sleeps = || {
        while registry.deadlock().state(first) != State::Asleep {
            thread::yield_now();
        }
    };
    thread::scope(|threads| {
        threads.spawn(|| with_worker(&registry, 0, run_until_terminated));
        threads.spawn(|| {
            with_worker(&registry, 1, |worker| {
                let ticket = worker.mark_blocked().unwrap();
                is_blocked.store(true, SeqCst);
                while !is_over.load(SeqCst) {
                    thread::yield_now();
                }
                _ = registry.deadlock().mark_self_unblocked(ticket);
            });
        });
        let leaving = threads.spawn(|| {
            *leaver.lock().unwrap() = Some(thread::current().id());
            with_worker(&registry, 2, |worker| {
                while !is_blocked.load(SeqCst) {
                    thread::yield_now();
                }
                wait_until_first_sleeps();
                worker.notify_leftovers();
                // A wake-up may have found nothing.
                wait_until_first_sleeps();
            });
        });
        leaving.join().unwrap();
        let begin = Instant::now();
        while !is_run.load(SeqCst) && begin.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        let outcome = [&is_handled, &is_run].map(|flag| flag.load(SeqCst));
        is_over.store(true, SeqCst);
        registry.remove_reference();
        assert_eq!(outcome, [true, true]);
    });
}
