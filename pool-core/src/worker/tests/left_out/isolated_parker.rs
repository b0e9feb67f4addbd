//! A parker that calls into the pool while its worker waits in isolation, where the sleep protocol
//! does not know of the worker.

use std::{
    boxed::Box,
    cell::Cell,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::{
    isolation::Isolation,
    testing::{with_registry, with_worker},
};

const BOTH: [Isolation; 2] = [Isolation::Anything, Isolation::Subtree];

/// Whether something happens. A test that fails takes so long.
fn happens(mut has_happened: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !has_happened() {
        if begin.elapsed() > Duration::from_secs(10) {
            return false;
        }
        thread::yield_now();
    }
    true
}

/// Waits for a latch, with a parker that calls a closure before it first parks.
fn wait_with_parker(
    worker: &WorkerThread<Test>,
    isolation: Isolation,
    latch: &CoreLatch,
    call: impl Fn(&WorkerThread<Test>) + 'static,
) {
    let has_called = Cell::new(false);
    observe(Some(Box::new(move |event| {
        if event == Event::Park && !has_called.replace(true) {
            // SAFETY: 1. it is used here, where this thread is the worker.
            call(unsafe { WorkerThread::current() }.unwrap());
        }
    })));
    worker.isolate(isolation, || worker.wait_until(latch));
    observe(None);
}

/// Lets the parker of one worker schedule an operation, while the other worker sleeps.
#[test]
fn what_the_parker_of_an_isolated_worker_schedules_is_run() {
    for isolation in BOTH {
        let registry = registry::<Test>(2);
        let is_run = Arc::new(AtomicBool::new(false));
        with_registry(&registry, |registry| {
            let (latch, waiter) = (CoreLatch::new(), Mutex::new(None));
            let happens = thread::scope(|threads| {
                let (latch, waiter, is_run) = (&latch, &waiter, &is_run);
                threads.spawn(move || {
                    registry.in_worker(|worker, _| {
                        *waiter.lock().unwrap() = Some(worker.index());
                        let is_run = is_run.clone();
                        wait_with_parker(worker, isolation, latch, move |worker| {
                            let is_run = is_run.clone();
                            let operation = Operation::new(move || is_run.store(true, SeqCst));
                            worker.schedule(Box::new(operation));
                        });
                    });
                });
                let happens = happens(|| is_run.load(SeqCst));
                let waiter = waiter.lock().unwrap().unwrap();
                // SAFETY: the latch and the pool live; the worker waits for this.
                unsafe { registry.set_latch(latch, waiter) };
                happens
            });
            assert!(happens, "{isolation:?}");
        });
    }
}

/// Lets the parker of the only worker queue the job that ends the worker's wait.
#[test]
fn what_the_parker_of_an_isolated_worker_queues_is_run() {
    for isolation in BOTH {
        let registry = registry::<Test>(1);
        let index = registry.worker(0).unwrap();
        let latch = Arc::new(CoreLatch::new());
        let has_ended = Arc::new(AtomicBool::new(false));
        let worker = thread::spawn({
            let (registry, latch, has_ended) = (registry.clone(), latch.clone(), has_ended.clone());
            move || {
                let of_job = (registry.clone(), latch.clone());
                // SAFETY: the latch and the pool live; the worker waits for this.
                let job = job(move |_| unsafe { of_job.0.set_latch(&raw const *of_job.1, index) });
                // SAFETY: 1. it stays, and is run below.
                let reference = unsafe { job.as_job_ref() };
                with_worker(&registry, 0, |worker| {
                    wait_with_parker(worker, isolation, &latch, move |worker| {
                        // SAFETY: 1. it is posted once.
                        unsafe { worker.post(reference) };
                    });
                    while worker.yield_now() {}
                });
                has_ended.store(true, SeqCst);
                core::mem::forget(job);
            }
        });
        let ends = happens(|| has_ended.load(SeqCst));
        if !ends {
            // SAFETY: the latch and the pool live; the worker waits for this.
            unsafe { registry.set_latch(&raw const *latch, index) };
        }
        worker.join().unwrap();
        assert!(ends, "{isolation:?}");
    }
}
