//! What wakes a worker that sleeps in an isolated wait, beside its latch.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use pool_std::{ThreadPool, current_state, isolate, join, scope};

use super::{CHANCE, assert_ends, pool, reporting_pool, wait_for};
use crate::support::Gate;

/// Runs a closure in a stolen half of an isolated join, when the worker that waits for that half,
/// the only other one, sleeps.
fn beside_a_sleeping_waiter(pool: &ThreadPool, closure: impl FnOnce() + Send) {
    let is_stolen = AtomicBool::new(false);
    pool.install(|| {
        let half = || {
            is_stolen.store(true, SeqCst);
            while current_state().asleep().count() == 0 {
                thread::yield_now();
            }
            closure();
        };
        isolate(|| join(|| wait_for(&is_stolen), half))
    });
}

#[test]
fn a_worker_that_sleeps_in_isolation_is_woken_for_a_job_of_its_subtree() {
    assert_ends("a half of a join", || {
        let (sender, receiver) = mpsc::channel();
        beside_a_sleeping_waiter(&pool(2), move || {
            join(
                move || receiver.recv().unwrap(),
                move || sender.send(()).unwrap(),
            );
        });
    });
    assert_ends("a job of a scope", || {
        let (sender, receiver) = mpsc::channel();
        beside_a_sleeping_waiter(&pool(2), move || {
            scope(move |scope| {
                scope.spawn(move |_| sender.send(()).unwrap());
                let receiver = receiver;
                receiver.recv().unwrap();
            });
        });
    });
}

/// As many workers are awake as there are processors, so that none is woken for the job of a join.
#[test]
fn a_worker_that_sleeps_in_isolation_is_woken_though_enough_are_awake() {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    assert_ends("a half of a join", move || {
        let pool = pool(processors + 1);
        let (others, end) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let block = || {
            others.fetch_add(1, SeqCst);
            while !end.load(SeqCst) {
                thread::sleep(Duration::from_millis(1));
            }
        };
        thread::scope(|threads| {
            for _ in 1..processors {
                threads.spawn(|| pool.install(block));
            }
            while others.load(SeqCst) < processors - 1 {
                thread::yield_now();
            }
            beside_a_sleeping_waiter(&pool, || {
                // The one that sleeps watches by now.
                thread::sleep(CHANCE);
                join(
                    || receiver.into_iter().next().unwrap(),
                    || sender.send(()).unwrap(),
                );
            });
            end.store(true, SeqCst);
        });
    });
}

#[test]
fn an_isolated_call_hides_no_job_from_a_worker_that_waits_for_its_caller() {
    assert_ends("a half of a join", || {
        let (sender, receiver) = mpsc::channel();
        beside_a_sleeping_waiter(&pool(2), || {
            let isolated = || {
                // The other worker, which was woken for the half, finds it now, or not at all.
                thread::sleep(CHANCE);
                receiver.into_iter().next().unwrap();
            };
            join(|| isolate(isolated), || sender.send(()).unwrap());
        });
    });
}

// The worker that waits may run what the blocked one has queued.
#[test]
fn a_blocked_worker_whose_job_a_wait_in_isolation_runs_is_no_deadlock() {
    assert_ends("a half of a join", || {
        let (pool, reports) = reporting_pool();
        let gate = Gate::default();
        beside_a_sleeping_waiter(&pool, || {
            join(|| gate.wait("the other half"), || gate.open());
        });
        assert!(reports.try_recv().is_err());
    });
}

/// What the worker waits for began before the job that was for the worker alone.
#[test]
fn a_worker_that_has_run_its_job_of_a_broadcast_still_helps_its_thief() {
    assert_ends("only the worker that waits can run the last job", || {
        let pool = pool(2);
        let [half_has_begun, is_run] = [(); 2].map(|()| AtomicBool::new(false));
        let half = || {
            half_has_begun.store(true, SeqCst);
            let (thief, has_run) = (thread::current().id(), Arc::new(AtomicBool::new(false)));
            let of_other = has_run.clone();
            pool.spawn_broadcast(move |_| {
                if thread::current().id() != thief {
                    of_other.store(true, SeqCst);
                }
            });
            wait_for(&has_run);
            join(|| wait_for(&is_run), || is_run.store(true, SeqCst));
        };
        pool.install(|| isolate(|| join(|| wait_for(&half_has_begun), half)));
    });
}
