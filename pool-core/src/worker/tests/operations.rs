//! Operations of thread progress that use the pool.

use std::{
    boxed::Box,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
};

use deque_core::Steal;
use progress_core::Operation;

use super::super::*;
use crate::job::JobContext;
use crate::testing::{Growing, Test, TestAwake, TestBusy, TestPlatform, on_platform, with_pool_on};

macro_rules! suite {
    ($name:ident, $platform:ty) => {
        on_platform! { $name, $platform:
            an_operation_may_join
            a_job_within_an_operation_may_schedule
            an_operation_waits_for_a_job_that_waits_for_an_operation
            a_worker_runs_its_operations_before_it_sleeps
            a_closure_that_reads_delays_operations
        }
    };
}

suite!(fixed, super::Test);
suite!(growing, super::Growing);
suite!(busy, super::TestAwake);
suite!(busy_growing, super::Growing<super::TestBusy>);
// Needs workers that sleep.
on_platform! { sleeping, super::Growing:
    the_last_guard_wakes_a_worker_for_what_it_held_up
    the_end_of_a_closure_that_reads_wakes_a_worker_for_what_it_held_up
    the_end_of_a_steal_wakes_a_worker_for_what_it_held_up
    the_end_of_a_vain_steal_wakes_a_worker_for_what_it_held_up
    a_worker_leaves_what_is_due_beyond_its_limit
}

/// Returns the worker that this thread is.
fn current<P: TestPlatform>() -> &'static WorkerThread<P> {
    // SAFETY: 1. tests use it only on the thread that they got it on, in a job.
    unsafe { WorkerThread::current() }.unwrap()
}

fn schedule<P: TestPlatform>(operation: impl FnOnce() + Send + 'static) {
    current::<P>().schedule(Box::new(Operation::new(operation)));
}

/// Searches for work, and so makes progress, until the flag is set.
fn work_until<P: TestPlatform>(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        if !current::<P>().yield_now() {
            std::thread::yield_now();
        }
    }
}

/// Waits while another worker is to steal from this one. Announces the job again and again, since
/// the announcement of a join's job may be overlooked by a worker that is falling asleep.
fn wait_for_a_thief<P: TestPlatform>(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        current::<P>().registry().announce_jobs(1);
        std::thread::yield_now();
    }
}

/// Runs a join whose second half is stolen and does not end before this worker has stolen a job
/// back, which is `job`. Needs a second worker.
fn wait_in_a_join<P: TestPlatform>(job: impl FnOnce() + Send) {
    let (is_stolen, is_stolen_back) = (AtomicBool::new(false), AtomicBool::new(false));
    let here = current::<P>().index().get();
    current::<P>().join_context(
        |_| wait_for_a_thief::<P>(&is_stolen),
        |by| {
            let first = |_: JobContext<'_, P>| {
                is_stolen.store(true, SeqCst);
                wait_for_a_thief::<P>(&is_stolen_back);
            };
            let second = |by: JobContext<'_, P>| {
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

/// Checks that a worker that waits within an operation steals. If that failed, its join would be
/// left while the thief of its second half is in the frame.
fn an_operation_may_join<P: TestPlatform>() {
    let (started, ended) = (Flag::default(), Flag::default());
    with_pool_on::<P, _>(2, |registry| {
        registry.in_worker(|_, _| {
            let (operation_started, operation_ended) = (started.clone(), ended.clone());
            schedule::<P>(move || {
                operation_started.store(true, SeqCst);
                wait_in_a_join::<P>(|| ());
                operation_ended.store(true, SeqCst);
            });
            work_until::<P>(&started);
        });
    });
    assert!(
        ended.load(SeqCst),
        "the operation has left its join by a panic"
    );
}

/// Schedules from a job, which cannot know that the worker is in the middle of an operation.
fn a_job_within_an_operation_may_schedule<P: TestPlatform>() {
    let (within, after) = (Flag::default(), Flag::default());
    let ended = Flag::default();
    with_pool_on::<P, _>(2, |registry| {
        registry.in_worker(|_, _| {
            let (inner, outer) = (within.clone(), after.clone());
            let end = ended.clone();
            schedule::<P>(move || {
                let _end = SetOnDrop(&end);
                wait_in_a_join::<P>(move || schedule::<P>(move || inner.store(true, SeqCst)));
                schedule::<P>(move || outer.store(true, SeqCst));
            });
            work_until::<P>(&ended);
        });
    });
    // Those that are left when the pool ends are run then.
    assert!(within.load(SeqCst), "scheduled by the job");
    assert!(after.load(SeqCst), "scheduled by the operation");
}

/// Checks that a worker whose operation waits goes on with others that are due: what it waits for
/// may depend on them.
fn an_operation_waits_for_a_job_that_waits_for_an_operation<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        registry.in_worker(|_, _| {
            let (first, second) = (Flag::default(), Flag::default());
            let (ended, wanted) = (first.clone(), second.clone());
            schedule::<P>(move || {
                wait_in_a_join::<P>(move || work_until::<P>(&wanted));
                ended.store(true, SeqCst);
            });
            schedule::<P>(move || second.store(true, SeqCst));
            work_until::<P>(&first);
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
fn schedule_chain<P: TestPlatform>(length: usize, flag: Flag) {
    schedule::<P>(move || match length {
        1 => flag.store(true, SeqCst),
        _ => schedule_chain::<P>(length - 1, flag),
    });
}

/// Checks that a worker runs operations that were scheduled in its last search before it sleeps. It
/// once left them to its next wake-up, although nothing delayed them.
fn a_worker_runs_its_operations_before_it_sleeps<P: TestPlatform>() {
    let length = if cfg!(miri) { 4 } else { 10 };
    for workers in 1..3 {
        with_pool_on::<P, _>(workers, |registry| {
            let flag = Flag::default();
            registry.in_worker(|_, _| schedule_chain::<P>(length, flag.clone()));
            wait_until_set(&flag);
        });
    }
}

/// Drops the guard that delays an operation when all workers sleep.
fn the_last_guard_wakes_a_worker_for_what_it_held_up<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        let flag = Flag::default();
        let set = flag.clone();
        let guard = registry.read();
        registry.in_worker(|_, _| schedule::<P>(move || set.store(true, SeqCst)));
        while registry.num_sleeping() < 2 {
            std::thread::yield_now();
        }
        assert!(!flag.load(SeqCst), "the guard delays it");
        drop(guard);
        wait_until_set(&flag);
    });
}

/// The job goes on after the closure, while the other worker sleeps.
fn the_end_of_a_closure_that_reads_wakes_a_worker_for_what_it_held_up<P: TestPlatform>() {
    the_end_wakes_a_worker::<P>(|worker, held_up| worker.registry().while_reading(held_up));
}

/// Reproduces a bug: the thief went on with its job, and the other worker slept on.
fn the_end_of_a_steal_wakes_a_worker_for_what_it_held_up<P: TestPlatform>() {
    the_end_wakes_a_worker::<P>(|worker, held_up| {
        let stolen = worker.while_stealing(|| {
            held_up();
            Steal::Success(())
        });
        assert!(stolen.is_success());
    });
}

/// Reproduces a bug: likewise for a worker that goes on with a job of another source.
fn the_end_of_a_vain_steal_wakes_a_worker_for_what_it_held_up<P: TestPlatform>() {
    the_end_wakes_a_worker::<P>(|worker, held_up| {
        let stolen: Steal<()> = worker.while_stealing(|| {
            held_up();
            Steal::Empty
        });
        assert!(stolen.is_empty());
    });
}

/// Reproduces a bug: the worker kept what it had taken over and not run, and went on with its job.
fn a_worker_leaves_what_is_due_beyond_its_limit<P: TestPlatform>() {
    const DUE: usize = 200;
    with_pool_on::<P, _>(2, |registry| {
        registry.in_worker(|worker, _| {
            let registry = worker.registry();
            while registry.num_sleeping() < 1 {
                std::thread::yield_now();
            }
            let run = Arc::new(AtomicUsize::new(0));
            let delay = registry.progress().delay();
            for _ in 0..DUE {
                let run = run.clone();
                let count = move || _ = run.fetch_add(1, SeqCst);
                registry
                    .progress()
                    .schedule(Box::new(Operation::new(count)));
            }
            drop(delay);
            // This worker takes over all of them before the other one is told.
            worker.run_maintenance();
            // The job goes on for long.
            while run.load(SeqCst) < DUE {
                std::thread::yield_now();
            }
        });
    });
}

/// Calls a function that delays progress while it calls its closure, which schedules an operation
/// and waits until the other worker sleeps.
fn the_end_wakes_a_worker<P: TestPlatform>(delay: impl Fn(&WorkerThread<P>, &dyn Fn()) + Sync) {
    with_pool_on::<P, _>(2, |registry| {
        registry.in_worker(|worker, _| {
            let registry = worker.registry();
            let flag = Flag::default();
            delay(worker, &|| {
                let set = flag.clone();
                let operation = Box::new(Operation::new(move || set.store(true, SeqCst)));
                registry.progress().schedule(operation);
                registry.announce_operations();
                while registry.num_sleeping() < 1 {
                    std::thread::yield_now();
                }
                assert!(!flag.load(SeqCst), "it is delayed");
            });
            wait_until_set(&flag);
        });
    });
}

/// Steals, joins and searches within the closure make no progress for its worker, and the end of
/// one that was begun within it, or its panic, is not the end of all.
fn a_closure_that_reads_delays_operations<P: TestPlatform>() {
    with_pool_on::<P, _>(2, |registry| {
        registry.in_worker(|worker, _| {
            let flag = Flag::default();
            let set = flag.clone();
            let registry = worker.registry();
            registry.while_reading(|| {
                schedule::<P>(move || set.store(true, SeqCst));
                registry.while_reading(|| wait_in_a_join::<P>(|| ()));
                let panics = || registry.while_reading(|| panic!("as told"));
                assert!(P::catch_unwind(panics).map(|(): ()| ()).is_err());
                while worker.yield_now() {}
                assert!(!flag.load(SeqCst), "the outer closure delays it");
            });
            work_until::<P>(&flag);
        });
    });
}

type Flag = Arc<AtomicBool>;

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
