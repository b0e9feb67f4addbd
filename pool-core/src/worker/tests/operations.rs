//! Operations of thread progress that use the pool.

use std::{
    boxed::Box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

use progress_core::Operation;

use super::super::*;
use crate::job::RunBy;
use crate::testing::{Growing, Test, TestOn, TestStorage, with_pool_on};

/// The worker that this thread is.
fn current<S: TestStorage>() -> &'static WorkerThread<TestOn<S>> {
    // SAFETY: 1. tests use it only on the thread that they got it on, in a job.
    unsafe { WorkerThread::current() }.unwrap()
}

fn schedule<S: TestStorage>(operation: impl FnOnce() + Send + 'static) {
    current::<S>().schedule(Box::new(Operation::new(operation)));
}

/// Searches for work, and so makes progress, until the flag is set.
fn work_until<S: TestStorage>(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        if !current::<S>().yield_now() {
            std::thread::yield_now();
        }
    }
}

/// Waits while another worker is to steal from this one. Announces the job again and again, since
/// the announcement of a join's job may be overlooked by a worker that is falling asleep.
fn wait_for_a_thief<S: TestStorage>(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        current::<S>().registry().announce_jobs(1, false);
        std::thread::yield_now();
    }
}

/// Runs a join whose second half is stolen and does not end before this worker has stolen a job
/// back, which is `job`. Needs a second worker.
fn wait_in_a_join<S: TestStorage>(job: impl FnOnce() + Send) {
    let (is_stolen, is_stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
    let here = current::<S>().index().get();
    current::<S>().join_context(
        |_| wait_for_a_thief::<S>(&is_stolen),
        |by| {
            let first = |_: RunBy<'_, TestOn<S>>| {
                is_stolen.store(true, SeqCst);
                wait_for_a_thief::<S>(&is_stolen_back);
            };
            let second = |by: RunBy<'_, TestOn<S>>| {
                assert_eq!(by.worker().index().get(), here);
                // Also if it panics.
                let _stolen_back = SetOnDrop(&is_stolen_back);
                job();
            };
            by.worker().join_context(first, second, true);
        },
        false,
    );
}

/// Runs an operation that waits in a join, on a worker whose deque has this storage.
fn an_operation_waits<S: TestStorage>() {
    let (started, ended) = (Flag::default(), Flag::default());
    with_pool_on::<S, _>(2, |registry| {
        registry.in_worker(|_, _| {
            let (operation_started, operation_ended) = (started.clone(), ended.clone());
            schedule::<S>(move || {
                operation_started.store(true, SeqCst);
                wait_in_a_join::<S>(|| ());
                operation_ended.store(true, SeqCst);
            });
            work_until::<S>(&started);
        });
    });
    assert!(
        ended.load(SeqCst),
        "the operation has left its join by a panic"
    );
}

/// A worker that waits within an operation steals. If that failed, its join would be left while the
/// thief of its second half is in the frame.
#[test]
fn an_operation_may_join() {
    an_operation_waits::<Fixed8>();
    an_operation_waits::<Grows>();
}

type Fixed8 = <Test as Platform>::Storage;
type Grows = <Growing as Platform>::Storage;

/// A job cannot know that the worker is in the middle of an operation.
#[test]
fn a_job_within_an_operation_may_schedule() {
    fn run<S: TestStorage>() {
        let (within, after) = (Flag::default(), Flag::default());
        let ended = Flag::default();
        with_pool_on::<S, _>(2, |registry| {
            registry.in_worker(|_, _| {
                let (inner, outer) = (within.clone(), after.clone());
                let end = ended.clone();
                schedule::<S>(move || {
                    let _end = SetOnDrop(&end);
                    wait_in_a_join::<S>(move || schedule::<S>(move || inner.store(true, SeqCst)));
                    schedule::<S>(move || outer.store(true, SeqCst));
                });
                work_until::<S>(&ended);
            });
        });
        // Those that are left when the pool ends are run then.
        assert!(within.load(SeqCst), "scheduled by the job");
        assert!(after.load(SeqCst), "scheduled by the operation");
    }
    run::<Fixed8>();
    run::<Grows>();
}

/// While an operation waits, the worker goes on with others that are due: what it waits for may
/// depend on them.
#[test]
fn an_operation_waits_for_a_job_that_waits_for_an_operation() {
    with_pool_on::<Grows, _>(2, |registry| {
        registry.in_worker(|_, _| {
            let (first, second) = (Flag::default(), Flag::default());
            let (ended, wanted) = (first.clone(), second.clone());
            schedule::<Grows>(move || {
                wait_in_a_join::<Grows>(move || work_until::<Grows>(&wanted));
                ended.store(true, SeqCst);
            });
            schedule::<Grows>(move || second.store(true, SeqCst));
            work_until::<Grows>(&first);
        });
    });
}

/// Waits until the flag is set. If all workers sleep before, nothing wakes them, and this does not
/// return. Their count does not tell: a worker counts as sleeping before its last look.
fn wait_until_set(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        std::thread::yield_now();
    }
}

/// Schedules an operation that schedules another one, and so on; the last one sets the flag.
fn schedule_chain<S: TestStorage>(length: usize, flag: Flag) {
    schedule::<S>(move || match length {
        1 => flag.store(true, SeqCst),
        _ => schedule_chain::<S>(length - 1, flag),
    });
}

/// In these pools a worker sleeps after a few searches. It once left operations that nothing held
/// up, but that were scheduled in the last of these searches, to its next wake-up.
#[test]
fn a_worker_runs_its_operations_before_it_sleeps() {
    fn run<S: TestStorage>() {
        for workers in 1..3 {
            with_pool_on::<S, _>(workers, |registry| {
                let flag = Flag::default();
                registry.in_worker(|_, _| schedule_chain::<S>(10, flag.clone()));
                wait_until_set(&flag);
            });
        }
    }
    run::<Fixed8>();
    run::<Grows>();
}

/// All workers sleep when the guard that holds up an operation is dropped.
#[test]
fn the_last_guard_wakes_a_worker_for_what_it_held_up() {
    with_pool_on::<Grows, _>(2, |registry| {
        let flag = Flag::default();
        let set = flag.clone();
        let guard = registry.read();
        registry.in_worker(|_, _| schedule::<Grows>(move || set.store(true, SeqCst)));
        while registry.num_sleeping() < 2 {
            std::thread::yield_now();
        }
        assert!(!flag.load(SeqCst), "the guard holds it up");
        drop(guard);
        wait_until_set(&flag);
    });
}

type Flag = Arc<AtomicBool>;

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
