//! A whole pool with one worker or two, and a caller outside. Ending the pool is part of each
//! model; a thread that is not woken in time is a deadlock, which loom reports.

use core::array;
use std::{
    boxed::Box,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr::NonNull,
    sync::Arc,
};

use ::loom::thread;
use deque_core::Fixed;
use sleep_core::Parker;

use super::super::*;
use crate::{
    injectors::Priority,
    job::{JobContext, JobRef, StackJob},
    latch::BlockingLatch,
    queue::JobQueue,
    testing::{
        Test, TestOn, TestParker, model, registry, run_until_stopped, run_until_terminated,
        spawn_other, with_pool, with_worker,
    },
};

/// Models the whole life of a job from outside, and of a sleep.
#[test]
fn a_call_from_outside() {
    model(2, || {
        let answer = with_pool(1, |registry| {
            registry.in_worker(|_, migrated| (7, migrated))
        });
        assert_eq!(answer, (7, true));
    });
}

/// Models the same for jobs that are looked at first, and last.
#[test]
fn an_urgent_and_a_background_job_from_outside() {
    for priority in [Priority::Urgent, Priority::Background] {
        model(2, move || {
            let answer = with_pool(1, |registry| {
                let job = StackJob::new(|_: JobContext<'_, _>| 7, BlockingLatch::<Test>::new());
                let mut node = <Test as Platform>::Queue::node();
                // SAFETY: `inject_with`: 1. the job and its node stay until the latch is set;
                // `as_job_ref`: 1. as well, 2. any thread may set it. `take_result`: 1. it is set;
                // 2. once.
                unsafe {
                    registry.inject_with(priority, NonNull::from(&mut node), job.as_job_ref());
                    job.latch().wait();
                    job.take_result()
                }
            });
            assert_eq!(answer, 7);
        });
    }
}

/// Runs `own` on a worker while another one looks for work once.
fn against_a_thief(
    preemptions: usize,
    prepare: fn(&WorkerThread<Test>),
    own: fn(&WorkerThread<Test>),
) {
    model(preemptions, move || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            prepare(worker);
            let thief = spawn_other(&registry, |worker| {
                worker.yield_now();
            });
            own(worker);
            thief.join().unwrap();
        });
    });
}

/// Enables fast push, so that the next join asks neither whether there is room nor whether a worker
/// sleeps.
fn enable_fast_push(worker: &WorkerThread<Test>) {
    // The first one makes the jobs event counter odd.
    for _ in 0..2 {
        worker.join_context(|_| (), |_| (), false);
    }
    assert!(worker.own().fast_push_enabled());
}

/// Models a second half that is stolen, or taken back, or waited for, possibly asleep.
#[test]
fn a_join_against_a_thief() {
    for prepare in [|_: &_| (), enable_fast_push] {
        against_a_thief(6, prepare, |worker| {
            assert_eq!(worker.join_context(|_| 1, |_| 2, false), (1, 2));
        });
    }
}

/// Checks that the frame stays until the second half has ended.
#[test]
fn a_join_that_panics_against_a_thief() {
    against_a_thief(4, enable_fast_push, |worker| {
        let panics = || worker.join_context(|_| resume_unwind(Box::new(1)), |_| 2, false);
        let panic = catch_unwind(AssertUnwindSafe(panics)).map(|((), _)| ());
        assert_eq!(*panic.unwrap_err().downcast::<i32>().unwrap(), 1);
    });
}

/// Models a worker that falls asleep while another one, whose fast push is enabled, announces two
/// jobs. If it sleeps in the end, the other one knows that it has to announce the next.
#[test]
fn fast_push_is_disabled_while_a_worker_sleeps() {
    model(3, || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            enable_fast_push(worker);
            let sleeper = spawn_other(&registry, run_until_terminated);
            worker.shared().deque.disable_fast_push();
            worker.announce_join();
            worker.announce_join();
            let other = registry.worker(1).unwrap();
            // In this order: a worker that was woken may be about to leave its parker, and count
            // itself again.
            if registry.num_sleeping() == 1 && registry.parker(other).is_parked() {
                assert!(!worker.own().fast_push_enabled());
            }
            registry.remove_reference();
            sleeper.join().unwrap();
        });
    });
}

/// Models a worker that posts a job and is then busy with something else, while another one falls
/// asleep: that one must run the job. For the fence of [`WorkerThread::post`], and the look at
/// others' deques.
#[test]
fn a_posted_job_is_not_overlooked() {
    model(2, || {
        let registry = registry::<Test>(2);
        // As after an earlier job: the counter is odd, so that a post writes nothing.
        registry.announce_own_jobs(registry.worker(0).unwrap(), 1, || true);
        with_worker(&registry, 0, |worker| {
            let other = spawn_other(&registry, run_until_terminated);
            let job = StackJob::new(|_| 7, BlockingLatch::<Test>::new());
            // SAFETY: `as_job_ref`: 1. it stays until the latch is set; `post`: 1. once;
            // `take_result`: 1. the latch is set; 2. once.
            unsafe {
                worker.post(job.as_job_ref());
                job.latch().wait();
                assert_eq!(job.take_result(), 7);
            }
            registry.remove_reference();
            other.join().unwrap();
        });
    });
}

/// Models a worker that posts two jobs at once, as the model above does one. The other one runs
/// both: one fence and one wake-up are enough.
#[test]
fn jobs_posted_together_are_not_overlooked() {
    model(1, || {
        let registry = registry::<Test>(2);
        // As after an earlier job: the counter is odd, so that a post writes nothing.
        registry.announce_own_jobs(registry.worker(0).unwrap(), 1, || true);
        with_worker(&registry, 0, |worker| {
            let other = spawn_other(&registry, run_until_terminated);
            let new = || StackJob::new(|_| 7, BlockingLatch::<Test>::new());
            let jobs = [new(), new()];
            // SAFETY: `as_job_ref`: 1. they stay until the latches are set; `post_many`: 1. once;
            // `take_result`: 1. the latch is set; 2. once.
            unsafe {
                worker.post_many(&[jobs[0].as_job_ref(), jobs[1].as_job_ref()]);
                // All of them before one of them moves.
                jobs.iter().for_each(|job| job.latch().wait());
                assert_eq!(jobs.map(|job| job.take_result()), [7, 7]);
            }
            registry.remove_reference();
            other.join().unwrap();
        });
    });
}

/// Models a thief that moves a job to its own deque and is then busy with something else, while
/// another worker falls asleep: that one must run the moved job, which it may have seen in neither
/// deque.
#[test]
fn a_moved_job_is_not_overlooked() {
    type Roomy = TestOn<Fixed<JobRef, 4>>;

    model(2, || {
        let registry = registry::<Roomy>(3);
        let owner = registry.worker(2).unwrap();
        // SAFETY: 1. this function holds the registry; 2. it is the `Arc`'s pointer.
        let owner = unsafe { WorkerThread::new(Arc::as_ptr(&registry), owner) }.unwrap();
        with_worker(&registry, 0, |thief| {
            let jobs: [_; 4] = array::from_fn(|number| {
                StackJob::new(move |_| number, BlockingLatch::<Roomy>::new())
            });
            // SAFETY: 1. they stay until the latches are set; 2. any thread may set them.
            let references = array::from_fn(|number| unsafe { jobs[number].as_job_ref() });
            let references: [JobRef; 4] = references;
            // SAFETY: 1. each is used for this alone.
            unsafe { owner.post_many(&references) };
            let opening = thief.find_work().unwrap();
            // SAFETY: 1. the queue gave it to us alone.
            unsafe { thief.run_found(opening) };
            let other = spawn_other(&registry, run_until_terminated);
            let found = thief.find_work();
            let is_found = |number: usize| {
                let job = (&raw const jobs[number]).cast();
                found.as_ref().is_some_and(|found| found.job.refers_to(job))
            };
            for number in (1..4).filter(|&number| !is_found(number)) {
                jobs[number].latch().wait();
            }
            // SAFETY: 1. the queue gave it to us alone.
            found
                .into_iter()
                .for_each(|found| unsafe { thief.run_found(found) });
            // SAFETY: 1. each has been run; 2. once.
            assert_eq!(jobs.map(|job| unsafe { job.take_result() }), [0, 1, 2, 3]);
            registry.remove_reference();
            other.join().unwrap();
        });
    });
}

/// Models two jobs that a thread outside queues at once, for a worker that falls asleep.
#[test]
fn jobs_injected_together_are_not_overlooked() {
    model(2, || {
        with_pool(1, |registry| {
            let new = || StackJob::new(|_| 7, BlockingLatch::<Test>::new());
            let jobs = [new(), new()];
            let mut nodes = [(); 2].map(|()| <Test as Platform>::Queue::node());
            // SAFETY: as above, and `inject_many`: 1. the nodes stay as well.
            unsafe {
                let references = [0, 1].map(|index: usize| jobs[index].as_job_ref());
                let nodes = nodes.iter_mut().map(NonNull::from);
                registry.inject_many(nodes.zip(references));
                // All of them before one of them moves.
                jobs.iter().for_each(|job| job.latch().wait());
                assert_eq!(jobs.map(|job| job.take_result()), [7, 7]);
            }
        });
    });
}

/// Models the only worker that may run a job, which falls asleep while the job is posted
/// (rayon#992).
#[test]
fn a_job_for_one_worker_is_not_overlooked() {
    model(2, || {
        with_pool(1, |registry| {
            let job = StackJob::new(|_| 7, BlockingLatch::<Test>::new());
            let mut node = <Test as Platform>::Queue::node();
            let worker = registry.worker(0).unwrap();
            // SAFETY: as above, and `inject_for`: 1. the node stays as well.
            unsafe {
                registry.inject_for(worker, NonNull::from(&mut node), job.as_job_ref());
                job.latch().wait();
                assert_eq!(job.take_result(), 7);
            }
        });
    });
}

/// Models a worker that resets its stop request while the pool ends: it must see one or the other.
#[test]
fn a_worker_that_resets_its_stop_sees_the_end_of_the_pool() {
    model(3, || {
        let registry = registry::<Test>(1);
        let worker = {
            let registry = registry.clone();
            thread::spawn(move || {
                with_worker(&registry, 0, |worker| {
                    while worker.reset_stop() {
                        run_until_stopped(worker);
                    }
                });
            })
        };
        registry.remove_reference();
        worker.join().unwrap();
    });
}

/// Checks that the second half of a join by a worker whose fast push is disabled is run by another
/// one, also if that one falls asleep meanwhile: the first half waits for it.
#[test]
fn a_join_with_fast_push_disabled_is_not_overlooked() {
    model(1, || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            let sleeper = spawn_other(&registry, run_until_terminated);
            let has_begun = Arc::new(TestParker::new());
            let joined = worker.join_context(
                |_| has_begun.park(),
                |by| {
                    has_begun.unpark();
                    by.migrated()
                },
                false,
            );
            assert_eq!(joined, ((), true));
            registry.remove_reference();
            sleeper.join().unwrap();
        });
    });
}

/// Models a thread that leaves a worker, and one that takes the worker over and another worker as
/// well. No other thread has that one, so it is not refused.
#[test]
fn a_worker_that_leaves_keeps_no_other_worker_from_coming() {
    model(3, || {
        let registry = registry::<Test>(2);
        let leaver = thread::spawn({
            let registry = registry.clone();
            move || drop(new_worker(&registry, 0))
        });
        if let Some(_successor) = new_worker(&registry, 0) {
            assert!(new_worker(&registry, 1).is_some(), "the worker is free");
        }
        leaver.join().unwrap();
    });
}

fn new_worker(registry: &Arc<Registry<Test>>, index: usize) -> Option<WorkerThread<Test>> {
    let worker = registry.worker(index).unwrap();
    // SAFETY: 1. the caller drops the worker before the registry; 2. it is the `Arc`'s pointer.
    unsafe { WorkerThread::new(Arc::as_ptr(registry), worker) }
}
