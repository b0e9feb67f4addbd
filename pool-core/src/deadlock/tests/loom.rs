//! Whole pools whose workers block. A report that is missed is a deadlock, which loom finds.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize as Tally, Ordering::SeqCst},
};

use sleep_core::Parker as _;

use crate::{
    job::StackJob,
    latch::BlockingLatch,
    testing::{
        Accounted, TestJec, TestParker, accounting::accounted, model, run_until_terminated,
        spawn_other, with_worker,
    },
};

/// Models a worker that blocks while another one falls asleep: one of the two reports, once.
#[test]
fn blocking_against_falling_asleep() {
    model(2, || {
        let reported = Arc::new(TestParker::new());
        let reports = Arc::new(Tally::new(0));
        let known = (reported.clone(), reports.clone());
        let registry = accounted::<TestJec>(2, move |_| {
            known.1.fetch_add(1, SeqCst);
            known.0.unpark();
        });
        with_worker(&registry, 0, |worker| {
            let sleeper = spawn_other(&registry, run_until_terminated);
            let ticket = worker.mark_blocked().unwrap();
            reported.park();
            registry.deadlock().mark_self_unblocked(ticket).unwrap();
            registry.remove_reference();
            sleeper.join().unwrap();
        });
        assert_eq!(reports.load(SeqCst), 1);
    });
}

/// Models a worker that has queued a job without announcing it, and then blocks until the job has
/// been run.
#[test]
fn a_job_of_a_worker_that_blocks_is_not_overlooked() {
    model(2, || {
        // Once the job has been run, the worker is marked as blocked without need, and may be
        // reported.
        let registry = accounted::<TestJec>(2, |_| ());
        with_worker(&registry, 0, |worker| {
            let other = spawn_other(&registry, run_until_terminated);
            let job = StackJob::new(|_| 7, BlockingLatch::<Accounted>::new());
            // SAFETY: `as_job_ref`: 1. it stays until the latch is set, after the job has been run;
            // `take_result`: 1. the latch is set; 2. once.
            unsafe {
                assert!(worker.own().try_push(job.as_job_ref()).is_ok());
                let ticket = worker.mark_blocked().unwrap();
                job.latch().wait();
                assert_eq!(job.take_result(), 7);
                registry.deadlock().mark_self_unblocked(ticket).unwrap();
            }
            registry.remove_reference();
            other.join().unwrap();
        });
    });
}

/// Models a thief that sets the latch of a join and then blocks, while the worker that joins falls
/// asleep. The joining worker is going to be woken, so no report comes before its join has ended.
#[test]
fn a_thief_that_blocks_against_the_worker_that_it_wakes() {
    model(3, || {
        let joins = Arc::new(AtomicBool::new(true));
        let known = joins.clone();
        let registry = accounted::<TestJec>(2, move |_| {
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
