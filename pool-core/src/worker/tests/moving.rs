//! Steals that also move jobs to the thief's deque.

use std::{array, sync::Arc};

use sleep_core::CoreLatch;

use super::{super::*, crowd::while_asleep};
use crate::{
    Isolation,
    job::{JobContext, JobRef, StackJob},
    latch::BlockingLatch,
    testing::{Test, registry, workers},
    worker::idle::Setter,
};

/// Calls a closure with workers and jobs, and then runs those that are left anywhere.
fn with_jobs<const WORKERS: usize, const JOBS: usize>(
    body: impl FnOnce(&Arc<Registry<Test>>, &[WorkerThread<Test>; WORKERS], [JobRef; JOBS]),
) {
    let registry = registry::<Test>(WORKERS);
    let workers = workers(&registry);
    let jobs: [_; JOBS] = array::from_fn(|_| {
        StackJob::new(|_: JobContext<'_, Test>| (), BlockingLatch::<Test>::new())
    });
    // SAFETY: 1. they stay to the end of this function, and are run before that.
    let references = array::from_fn(|job| unsafe { jobs[job].as_job_ref() });
    body(&registry, &workers, references);
    for worker in &workers {
        while worker.yield_now() {}
    }
    for job in jobs {
        // SAFETY: 1. it has been run; 2. once.
        unsafe { job.take_result() };
    }
}

/// Steals a job and runs it. Returns how many others are on the thief's deque then.
fn steal_one(thief: &WorkerThread<Test>) -> usize {
    let found = thief.find_work().expect("there is a job");
    let moved = thief.own().len();
    // SAFETY: 1. the queue gave it to us alone.
    unsafe { thief.run_found(found) };
    moved
}

#[test]
fn a_thief_takes_half_of_what_its_victim_leaves_to_others() {
    with_jobs(|_, [owner, thief]: &[_; 2], jobs: [_; 8]| {
        // SAFETY: 1. each is used for this alone.
        unsafe { owner.post_many(&jobs) };
        assert_eq!(steal_one(thief), 0, "the first one opens the deque");
        assert_eq!(owner.own().len(), 7);
        assert_eq!(steal_one(thief), 3);
        assert_eq!(owner.own().len(), 3);
        assert!(thief.shared().may_hold_posted(), "it may leave them, too");
    });
}

/// Their owner takes them back as long as they are on its own deque.
#[test]
fn the_jobs_of_joins_are_not_moved() {
    fn nest(worker: &WorkerThread<Test>, depth: usize, innermost: &dyn Fn()) {
        if depth == 0 {
            innermost();
        } else {
            worker.join_context(|_| nest(worker, depth - 1, innermost), |_| (), false);
        }
    }
    with_jobs(|_, [owner, thief]: &[_; 2], jobs: [_; 3]| {
        // SAFETY: 1. each is used for this alone.
        unsafe { owner.post_many(&jobs) };
        nest(owner, 4, &|| {
            assert_eq!(steal_one(thief), 0, "the first one opens the deque");
            assert_eq!(steal_one(thief), 1, "the last one that was posted");
            assert_eq!(steal_one(thief), 0, "that one");
            assert_eq!(owner.own().len(), 4);
            assert_eq!(steal_one(thief), 0, "half of a join");
            assert_eq!(owner.own().len(), 3);
        });
    });
}

/// A worker that waits for one of them in isolation takes it from no deque. The victim runs it
/// before it leaves, and the thief would not.
#[test]
fn nothing_is_moved_from_a_worker_that_owes_a_job() {
    with_jobs(|_, [owner, thief]: &[_; 2], jobs: [_; 16]| {
        let (owed, later) = jobs.split_at(8);
        owner.note_owed_job();
        // SAFETY: 1. each is used for this alone.
        unsafe { owner.post_many(owed) };
        assert_eq!([steal_one(thief), steal_one(thief)], [0, 0]);
        assert_eq!(owner.own().len(), 6);
        assert!(
            owner.shared().may_hold_posted(),
            "one note leaves the other"
        );
        owner.run_owed_jobs();
        assert!(owner.own().is_empty() && !owner.shared().owes_job());

        // SAFETY: 1. as above.
        unsafe { owner.post_many(later) };
        assert!(steal_one(thief) + steal_one(thief) > 0, "it owes none");
    });
}

/// Reproduces a bug: a worker that had owed a job once owed it until it left. Then it ran whatever
/// was on its deque.
#[test]
fn a_worker_that_searches_owes_nothing() {
    with_jobs(|_, [owner, thief]: &[_; 2], jobs: [_; 16]| {
        let (owed, later) = jobs.split_at(8);
        owner.note_owed_job();
        // SAFETY: 1. each is used for this alone.
        unsafe { owner.post_many(owed) };
        for job in core::iter::from_fn(|| owner.take_deque_job()) {
            // SAFETY: 1. the deque gave it to us alone.
            unsafe { owner.run(job) };
        }
        let latch = CoreLatch::new();
        // SAFETY: 1. the latch is in this frame; 2. no thread waits for it.
        let waiter_sleeps = unsafe { CoreLatch::set(&raw const latch) };
        assert!(!waiter_sleeps);
        assert!(owner.search(&latch, Setter::Outside).is_none());
        assert!(!owner.shared().owes_job() && !owner.shared().may_hold_posted());
        // SAFETY: 1. as above.
        unsafe { owner.post_many(later) };
        owner.run_owed_jobs();
        assert_eq!(owner.own().len(), 8, "it leaves them to others");
        assert!(steal_one(thief) + steal_one(thief) > 0, "it owes none");
    });
}

/// An isolated worker may wait for a job that it would not find on another worker's deque.
#[test]
fn nothing_is_moved_from_an_isolated_worker() {
    with_jobs(|_, [owner, thief]: &[_; 2], jobs: [_; 8]| {
        owner.isolate(Isolation::Subtree, || {
            // SAFETY: 1. each is used for this alone.
            unsafe { owner.post_many(&jobs) };
            for _ in 0..8 {
                assert_eq!(steal_one(thief), 0);
            }
        });
    });
}

/// A worker that falls asleep while jobs are on their way sees them in neither deque.
#[test]
fn moved_jobs_wake_a_sleeper() {
    with_jobs(|_, [owner, thief, sleeper]: &[_; 3], jobs: [_; 8]| {
        // SAFETY: 1. each is used for this alone.
        unsafe { owner.post_many(&jobs) };
        let opens = || assert_eq!(steal_one(thief), 0);
        assert!(!while_asleep(sleeper, opens), "it moves none");
        let moves = || assert_eq!(steal_one(thief), 3);
        assert!(while_asleep(sleeper, moves));
    });
}
