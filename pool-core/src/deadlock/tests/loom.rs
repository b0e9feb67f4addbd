//! Whole pools whose workers block. A report that is missed is a deadlock, which loom finds.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize as Tally, Ordering::SeqCst},
};

use ::loom::{model::Builder, thread};
use sleep_core::Parker as _;

use super::super::*;
use crate::{
    job::StackJob,
    latch::BlockingLatch,
    testing::{Accounted, TestParker, accounting::accounted},
};

fn model(preemptions: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 10_000;
    builder.check(body);
}

/// Makes this thread a worker for as long as `body` takes.
fn with_worker(
    registry: &Arc<Registry<Accounted>>,
    index: usize,
    body: impl FnOnce(&WorkerThread<Accounted>),
) {
    let index = registry.worker(index).unwrap();
    // SAFETY: 1. the caller holds the registry; 2. it is the `Arc`'s pointer.
    let worker = unsafe { WorkerThread::new(Arc::as_ptr(registry), index) }.unwrap();
    // SAFETY: 1. it stays until it leaves.
    unsafe { worker.enter() };
    body(&worker);
    worker.leave();
}

/// Makes a thread of its own the second worker, as `with_worker` does.
fn spawn_other(
    registry: &Arc<Registry<Accounted>>,
    body: fn(&WorkerThread<Accounted>),
) -> thread::JoinHandle<()> {
    let registry = registry.clone();
    thread::spawn(move || with_worker(&registry, 1, body))
}

/// Models a worker that blocks while another one falls asleep: one of the two reports, once.
#[test]
fn blocking_against_falling_asleep() {
    model(2, || {
        let reported = Arc::new(TestParker::new());
        let reports = Arc::new(Tally::new(0));
        let known = (reported.clone(), reports.clone());
        let registry = accounted(2, move |_| {
            known.1.fetch_add(1, SeqCst);
            known.0.unpark();
        });
        with_worker(&registry, 0, |worker| {
            let sleeper = spawn_other(&registry, WorkerThread::run_until_terminated);
            let ticket = worker.mark_blocked().unwrap();
            reported.park();
            registry.deadlock().mark_self_unblocked(ticket).unwrap();
            registry.remove_reference();
            sleeper.join().unwrap();
        });
        assert_eq!(reports.load(SeqCst), 1);
    });
}

/// Models a job that a worker has queued and not announced, and then the worker blocks until the job has
/// been run.
#[test]
fn a_job_of_a_worker_that_blocks_is_not_overlooked() {
    model(2, || {
        // When the job has been run, the worker is marked as blocked for nothing, and may be reported.
        let registry = accounted(2, |_| ());
        with_worker(&registry, 0, |worker| {
            let other = spawn_other(&registry, WorkerThread::run_until_terminated);
            let job = StackJob::<Accounted, _, _, _>::new(|_| 7, BlockingLatch::<Accounted>::new());
            // SAFETY: `as_job_ref`: 1. it stays until the latch is set, after the job has been run;
            // `into_result`: 1. the latch is set; 2. once.
            unsafe {
                assert!(worker.own().try_push(job.as_job_ref()).is_ok());
                let ticket = worker.mark_blocked().unwrap();
                job.latch().wait();
                assert_eq!(job.into_result(), 7);
                registry.deadlock().mark_self_unblocked(ticket).unwrap();
            }
            registry.remove_reference();
            other.join().unwrap();
        });
    });
}

/// Models a thief that sets the latch of a join and then blocks, while the worker that joins falls asleep.
/// That one is going to be woken, so no report comes before its join has ended.
#[test]
fn a_thief_that_blocks_against_the_worker_that_it_wakes() {
    model(3, || {
        let joins = Arc::new(AtomicBool::new(true));
        let known = joins.clone();
        let registry = accounted(2, move |_| {
            assert!(
                !known.load(SeqCst),
                "reported although a worker is being woken"
            );
        });
        with_worker(&registry, 0, |worker| {
            let thief = spawn_other(&registry, |worker| {
                worker.yield_now();
                let ticket = worker.mark_blocked().unwrap();
                let deadlock = worker.registry().deadlock();
                deadlock.mark_self_unblocked(ticket).unwrap();
            });
            assert_eq!(worker.join_context(|_| 1, |_| 2, false), (1, 2));
            joins.store(false, SeqCst);
            thief.join().unwrap();
        });
    });
}
