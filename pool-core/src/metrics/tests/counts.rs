//! What each counter counts, and that it counts nothing else.

use core::{cell::Cell, num::NonZeroU32, ptr::NonNull, time::Duration};
use std::{
    boxed::Box,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst, fence},
    },
    thread,
    vec::Vec,
};

use deque_core::{Deque, FencePrice, Order};
use sleep_core::CoreLatch;
use sleep_primitives::AsymmetricFence;

use super::super::{Counts, NoMetrics, Observer as _, PoolMetrics, WorkerMetrics, WorkerState};
use crate::{
    Platform, Registry, WorkerThread,
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    queue::JobQueue,
    testing::{DEQUE_CAPACITY, Event, NOW, Test, observe, registry, registry_of, with_pool},
};

mod states;

/// Calls a closure with the workers of a pool without threads, which are all on this thread.
fn with_workers<const N: usize>(
    registry: &Arc<Registry<Test>>,
    body: impl FnOnce([&WorkerThread<Test>; N]),
) {
    let workers = core::array::from_fn::<_, N, _>(|index| {
        let index = registry.worker(index).unwrap();
        // SAFETY: 1. the caller holds the registry; 2. it is the `Arc`'s pointer.
        unsafe { WorkerThread::new(Arc::as_ptr(registry), index) }.unwrap()
    });
    body(workers.each_ref());
}

fn metrics(worker: &WorkerThread<Test>) -> WorkerMetrics {
    worker.registry().worker_metrics(worker.index())
}

fn all_metrics(registry: &Registry<Test>) -> PoolMetrics<Vec<WorkerMetrics>> {
    registry.metrics(|of| (0..registry.num_workers()).map(of).collect())
}

/// Returns what a worker counts during a call.
fn counted(worker: &WorkerThread<Test>, call: impl FnOnce()) -> Counts {
    let before = metrics(worker).counts;
    call();
    metrics(worker).counts - before
}

fn counts(change: impl FnOnce(&mut Counts)) -> Counts {
    let mut counts = Counts::default();
    change(&mut counts);
    counts
}

/// Calls a closure with a job that is to be run before it returns.
fn with_job(body: impl FnOnce(crate::JobRef)) {
    let job = StackJob::new(|_: JobContext<'_, _>| (), BlockingLatch::<Test>::new());
    // SAFETY: 1. it stays to the end of this function, and is run before that.
    body(unsafe { job.as_job_ref() });
    // SAFETY: 1. it has been run; 2. once.
    unsafe { job.take_result() };
}

/// Posts a job onto a worker's own deque.
fn post(worker: &WorkerThread<Test>, job: crate::JobRef) {
    // SAFETY: 1. tests post a job once.
    unsafe { worker.post(job) };
}

/// Joins, one within the other.
fn nest(worker: &WorkerThread<Test>, depth: usize) {
    if depth > 0 {
        worker.join_context(|by| nest(by.worker(), depth - 1), |_| (), false);
    }
}

#[test]
fn a_join_that_no_thief_takes_counts_nothing() {
    with_workers(&registry(1), |[worker]| {
        assert_eq!(
            counted(worker, || nest(worker, DEQUE_CAPACITY)),
            Counts::default()
        );
    });
}

#[test]
fn a_join_that_finds_the_deque_full_is_counted() {
    with_workers(&registry(1), |[worker]| {
        let full = counts(|counts| counts.deque_full = 2);
        assert_eq!(counted(worker, || nest(worker, DEQUE_CAPACITY + 2)), full);
    });
}

#[test]
fn a_posted_job_is_counted_when_it_is_posted_and_when_it_is_run() {
    with_workers(&registry(1), |[worker]| {
        with_job(|job| {
            let posted = counts(|counts| counts.jobs_posted = 1);
            assert_eq!(counted(worker, || post(worker, job)), posted);
            let run = counts(|counts| counts.jobs_run = 1);
            assert_eq!(counted(worker, || assert!(worker.yield_local())), run);
        });
    });
}

#[test]
fn a_job_that_finds_the_deque_full_is_run_and_not_posted() {
    fn fill_and_post(worker: &WorkerThread<Test>, room: usize) {
        with_job(|job| match room {
            0 => {
                let run = counts(|counts| (counts.deque_full, counts.jobs_run) = (1, 1));
                assert_eq!(counted(worker, || post(worker, job)), run);
            }
            _ => {
                post(worker, job);
                fill_and_post(worker, room - 1);
                assert!(worker.yield_local());
            }
        });
    }
    with_workers(&registry(1), |[worker]| {
        fill_and_post(worker, DEQUE_CAPACITY)
    });
}

#[test]
fn a_look_at_all_sources_is_a_search() {
    with_workers(&registry(1), |[worker]| {
        let searched = counts(|counts| counts.searches = 1);
        assert_eq!(counted(worker, || assert!(!worker.yield_now())), searched);
    });
}

#[test]
fn a_job_from_outside_is_run_by_a_worker_and_posted_by_none() {
    let registry = registry(1);
    with_workers(&registry, |[worker]| {
        with_job(|job| {
            let mut node = <Test as Platform>::Queue::node();
            // SAFETY: 1. the node stays to the end of this closure, and the job is run before that.
            unsafe { registry.inject(NonNull::from(&mut node), job) };
            assert!(!all_metrics(&registry).injector_is_empty());
            let run = counts(|counts| (counts.searches, counts.jobs_run) = (1, 1));
            assert_eq!(counted(worker, || assert!(worker.yield_now())), run);
            assert!(all_metrics(&registry).injector_is_empty());
            assert_eq!(all_metrics(&registry).injector_len(), None);
        });
    });
}

#[test]
fn a_steal_is_counted_by_the_thief() {
    with_workers(&registry(2), |[thief, victim]| {
        with_job(|job| {
            post(victim, job);
            assert_eq!(metrics(victim).queued, 1);
            let stolen = counts(|counts| {
                (counts.searches, counts.jobs_run) = (1, 1);
                (counts.steals_tried, counts.steals_succeeded) = (1, 1);
            });
            let of_victim = counted(victim, || {
                assert_eq!(counted(thief, || assert!(thief.yield_now())), stolen);
            });
            assert_eq!(of_victim, Counts::default());
            assert_eq!(metrics(victim).queued, 0);
        });
    });
}

/// How many heavy fences the system refuses from now on.
static REFUSALS: AtomicUsize = AtomicUsize::new(0);

/// A fence that the system may refuse.
struct Refusable;

// SAFETY: 1. the test that uses it has one thread; 2. neither panics.
unsafe impl AsymmetricFence for Refusable {
    fn light() {}

    fn heavy() -> bool {
        fence(SeqCst);
        let one_less = |left: usize| left.checked_sub(1);
        REFUSALS.fetch_update(SeqCst, SeqCst, one_less).is_err()
    }
}

// SAFETY: as above.
unsafe impl FencePrice for Refusable {
    fn price() -> Option<NonZeroU32> {
        NonZeroU32::new(2)
    }
}

/// The victim pops without fences, and while it does not pop the system refuses a thief the fence
/// twice.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))]
fn a_revocation_and_the_attempts_that_it_fails_are_counted_by_the_thief() {
    let deque = || Deque::fixed(Order::Lifo).with_process_fence::<Refusable>();
    let registry = registry_of(2, deque);
    REFUSALS.store(2, SeqCst);
    with_workers(&registry, |[thief, victim]| {
        with_job(|job| {
            post(victim, job);
            nest(victim, 4);
            // Four pops with fences have cost as much as the revocation.
            let stolen = counts(|counts| {
                (counts.searches, counts.jobs_run) = (1, 1);
                (
                    counts.steals_tried,
                    counts.steals_retried,
                    counts.steals_succeeded,
                ) = (3, 2, 1);
                counts.revocations = 1;
            });
            assert_eq!(counted(thief, || assert!(thief.yield_now())), stolen);
        });
    });
}

/// Waits until a worker sleeps and has slept so often.
fn wait_until_asleep(registry: &Registry<Test>, times: u64) {
    let is_asleep = || {
        let metrics = registry.worker_metrics(registry.worker(0).unwrap());
        metrics.state == WorkerState::Asleep && metrics.counts.sleeps == times
    };
    while !is_asleep() {
        thread::yield_now();
    }
}

#[test]
fn a_worker_that_is_woken_for_nothing_counts_that_when_it_sleeps_again() {
    with_pool(1, |registry| {
        let index = registry.worker(0).unwrap();
        let sleeps = || {
            let counts = registry.worker_metrics(index).counts;
            [counts.sleeps, counts.wakes, counts.fruitless_wakes]
        };
        wait_until_asleep(registry, 1);
        assert_eq!(sleeps(), [1, 0, 0]);
        // The state is told before the worker can be woken.
        while registry.num_sleeping() == 0 {
            thread::yield_now();
        }
        registry.wake_worker(index);
        wait_until_asleep(registry, 2);
        assert_eq!(sleeps(), [2, 1, 1]);
        // It is woken for a job now.
        registry.in_worker(|_, _| ());
        wait_until_asleep(registry, 3);
        assert_eq!(sleeps(), [3, 2, 1]);
    });
}

/// The last look before sleeping finds a job.
#[test]
fn a_worker_that_turns_back_has_not_slept() {
    let registry = registry(1);
    with_workers(&registry, |[worker]| {
        let (latch, index) = (CoreLatch::new(), worker.index());
        let run = |_: JobContext<'_, _>| {
            // SAFETY: 1. and 3. both live in the frame of the test; 2. `worker` waits; 4. for this.
            unsafe { registry.set_latch(&latch, index) };
        };
        let job = StackJob::new(run, BlockingLatch::<Test>::new());
        let mut node = <Test as Platform>::Queue::node();
        // SAFETY: 1. it stays to the end of this closure, and is run before that.
        let (node, job_ref) = (NonNull::from(&mut node), unsafe { job.as_job_ref() });
        let (pool, is_injected) = (registry.clone(), Cell::new(false));
        observe(Some(Box::new(move |event| {
            if event == Event::Look && !is_injected.replace(true) {
                // SAFETY: 1. as above.
                unsafe { JobQueue::push(pool.injectors().normal(), node, job_ref) };
            }
        })));
        let turned_back = counted(worker, || worker.wait_until(&latch));
        observe(None);
        let run = counts(|counts| (counts.searches, counts.jobs_run) = (3, 1));
        assert_eq!(turned_back, run);
        // SAFETY: 1. it has been run; 2. once.
        unsafe { job.take_result() };
    });
}

/// Readers disturb no worker, and see no count go back.
#[test]
fn a_pool_is_read_while_its_workers_count() {
    let rounds = if cfg!(miri) { 5 } else { 500 };
    with_pool(2, |registry| {
        let is_done = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                let mut last = Counts::default();
                while !is_done.load(SeqCst) {
                    let now = all_metrics(registry).sum();
                    for (last, now) in last.numbers().iter().zip(now.numbers()) {
                        assert!(*last <= now);
                    }
                    last = now;
                }
            });
            for _ in 0..rounds {
                registry.in_worker(|worker, _| nest(worker, 3));
            }
            is_done.store(true, SeqCst);
        });
        let sum = all_metrics(registry).sum();
        assert!(sum.jobs_run >= rounds);
        assert!(sum.steals_succeeded <= sum.steals_tried);
        assert!(sum.fruitless_wakes <= sum.wakes && sum.wakes <= sum.sleeps);
    });
}

#[test]
fn without_metrics_a_worker_has_none() {
    assert_eq!(WorkerMetrics::default().state, WorkerState::Unknown);
    assert!(NoMetrics.snapshot(|| Some(0)).is_none());
}
