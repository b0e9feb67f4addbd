//! Jobs that are posted, step by step on one thread.

use std::{
    sync::{Arc, Mutex},
    vec::Vec,
};

use super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    testing::{DEQUE_CAPACITY, Test, TestPlatform},
};

/// Calls a closure with the worker of a pool without threads.
fn with_worker(body: impl FnOnce(&WorkerThread<Test>)) {
    let registry = Test::registry(1);
    let first = registry.worker(0).unwrap();
    // SAFETY: 1. this function holds the registry; 2. it is the `Arc`'s pointer.
    let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), first) }.unwrap();
    body(&worker);
}

/// Posts this many jobs together, and returns the order in which they were run: by the post, and
/// then by their worker.
fn order_of(worker: &WorkerThread<Test>, count: usize) -> [Vec<usize>; 2] {
    let order = Mutex::new(Vec::new());
    let note = |number| order.lock().unwrap().push(number);
    let jobs: Vec<_> = (0..count)
        .map(|number| {
            StackJob::new(
                move |_: JobContext<'_, Test>| note(number),
                BlockingLatch::<Test>::new(),
            )
        })
        .collect();
    // SAFETY: 1. they stay to the end of this function, and are run before that.
    let references: Vec<_> = jobs.iter().map(|job| unsafe { job.as_job_ref() }).collect();
    // SAFETY: 1. each is used for this alone.
    unsafe { worker.post_many(&references) };
    let at_once = std::mem::take(&mut *order.lock().unwrap());
    while worker.yield_local() {}
    drop(references);
    for job in jobs {
        // SAFETY: 1. it has been run; 2. once.
        unsafe { job.take_result() };
    }
    [at_once, order.into_inner().unwrap()]
}

#[test]
fn jobs_posted_together_are_run_the_newest_first() {
    with_worker(|worker| {
        assert_eq!(order_of(worker, 3), [vec(0..0), Vec::from([2, 1, 0])]);
        assert_eq!(order_of(worker, 0), [vec(0..0), vec(0..0)]);
    });
}

fn vec(numbers: core::ops::Range<usize>) -> Vec<usize> {
    numbers.collect()
}

#[test]
fn jobs_that_the_deque_has_no_room_for_are_run_at_once() {
    with_worker(|worker| {
        let [at_once, later] = order_of(worker, DEQUE_CAPACITY + 2);
        assert_eq!(at_once, [DEQUE_CAPACITY, DEQUE_CAPACITY + 1]);
        assert_eq!(later, (0..DEQUE_CAPACITY).rev().collect::<Vec<_>>());
    });
}
