//! Jobs that a worker takes from where it has found one, step by step on one thread.

use std::{
    ptr::NonNull,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    vec::Vec,
};

use sleep_core::{CoreLatch, Purpose};

use super::*;

use crate::{
    Registry, WorkerThread,
    job::{JobContext, JobRef, StackJob},
    latch::BlockingLatch,
    platform::Platform,
    queue::JobQueue,
    testing::{Test, TestPlatform as _},
    worker::lineage::Found,
};

type Queue = <Test as Platform>::Queue;

#[test]
fn the_last_source_is_left_after_a_number_of_jobs() {
    let last = LastSource::new();
    assert_eq!(last.next(), None, "none is known at first");
    last.note_found(Source::Worker(3));
    for _ in 0..MOST_IN_A_ROW {
        assert_eq!(last.next(), Some(Source::Worker(3)));
    }
    assert_eq!(last.next(), None);
    last.note_found(Source::Injector);
    assert_eq!(last.next(), Some(Source::Injector));
    last.note_empty();
    assert_eq!(last.next(), None);
}

/// Calls a closure with the two workers of a pool without threads.
fn with_workers(body: impl FnOnce(&Registry<Test>, [&WorkerThread<Test>; 2])) {
    let registry = Test::registry(2);
    let [first, second] = [0, 1].map(|index| {
        let index = registry.worker(index).unwrap();
        // SAFETY: 1. this function holds the registry; 2. it is the `Arc`'s pointer.
        unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap()
    });
    body(&registry, [&first, &second]);
}

/// Calls a closure with this many jobs, and returns how many of them were run. Each that is run is
/// run in the closure.
fn with_jobs(count: usize, body: impl FnOnce(&[JobRef])) -> usize {
    let run = AtomicUsize::new(0);
    let jobs: Vec<_> = (0..count)
        .map(|_| {
            let count_one = |_: JobContext<'_, Test>| _ = run.fetch_add(1, Ordering::Relaxed);
            StackJob::new(count_one, BlockingLatch::<Test>::new())
        })
        .collect();
    // SAFETY: 1. they stay to the end of this function, and are run before that.
    let references: Vec<_> = jobs.iter().map(|job| unsafe { job.as_job_ref() }).collect();
    body(&references);
    drop(jobs);
    run.into_inner()
}

/// Takes jobs as a worker that waits does, from its own queues and from where it found one, and
/// runs them. Returns how many there were.
fn run_again(worker: &WorkerThread<Test>) -> usize {
    let mut count = 0;
    let next = || {
        let own = worker.take_local_job().map(Found::own);
        own.or_else(|| worker.take_again())
    };
    while let Some(found) = next() {
        // SAFETY: 1. the queue gave it to us alone.
        unsafe { worker.run_found(found) };
        count += 1;
    }
    count
}

#[test]
fn a_worker_takes_more_jobs_from_its_victim() {
    with_workers(|_, [owner, thief]| {
        let run = with_jobs(4, |jobs| {
            // SAFETY: 1. each is used for this alone.
            unsafe { owner.post_many(jobs) };
            assert!(thief.take_again().is_none(), "it knows of no victim");
            assert!(thief.yield_now());
            let searches = thief.observer().snapshot(|| None).unwrap().counts.searches;
            assert_eq!(run_again(thief), 3);
            let now = thief.observer().snapshot(|| None).unwrap().counts.searches;
            assert_eq!(searches, now);
        });
        assert_eq!(run, 4);
    });
}

#[test]
fn a_worker_takes_more_jobs_from_outside() {
    with_workers(|registry, [worker, _]| {
        let mut nodes = [(); 3].map(|()| Queue::node());
        let run = with_jobs(3, |jobs| {
            for (node, &job) in nodes.iter_mut().zip(jobs) {
                // SAFETY: 1. it outlives the job's run.
                unsafe { registry.inject(NonNull::from(node), job) };
            }
            assert!(worker.yield_now());
            assert_eq!(run_again(worker), 2);
        });
        assert_eq!(run, 3);
    });
}

/// Checks that a worker searches, and so wakes the other one, if that sleeps beside a queue with
/// jobs.
#[test]
fn a_worker_searches_while_another_one_sleeps() {
    with_workers(|registry, [owner, thief]| {
        let run = with_jobs(3, |jobs| {
            let latch = CoreLatch::new();
            let mut idle = registry.begin_idle(owner.index(), Purpose::Job);
            // SAFETY: 1. each is used for this alone.
            unsafe { owner.post_many(jobs) };
            assert!(thief.yield_now());
            idle.no_work_found(&latch, || {
                unreachable!("it only announces that it is sleepy")
            });
            assert!(!registry.all_are_awake());
            assert!(thief.take_again().is_none());
            idle.end(|| false);
            while thief.yield_now() {}
        });
        assert_eq!(run, 3);
    });
}
