//! Queues that another thread has half changed when it loses the processor.

use core::{
    ptr::NonNull,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
};

use super::super::*;
use crate::{
    job::{Job, JobHeader, JobRef},
    queue::JobQueue,
    testing::{self, BUSY, Test, TestQueue, registry},
};

/// Runs `body` on a pool's only worker, which is to relax several times before the queue is whole
/// again that `body` makes busy.
fn with_worker(body: impl FnOnce(&WorkerThread<Test>)) {
    testing::with_worker(&registry(1), 0, |worker| {
        body(worker);
        assert_eq!(BUSY.get().1, 0, "the worker has waited");
    });
}

fn make_busy(queue: *const TestQueue) {
    BUSY.set((queue, 5));
}

#[test]
fn a_search_lets_the_thread_run_that_it_waits_for() {
    with_worker(|worker| {
        make_busy(worker.registry().injectors().normal());
        assert!(!worker.yield_now());
    });
}

#[test]
fn a_look_into_the_inbox_lets_the_thread_run_that_it_waits_for() {
    with_worker(|worker| {
        make_busy(&worker.shared().inbox);
        worker.run_inbox_jobs();
    });
}

#[test]
fn a_job_in_order_lets_the_thread_run_that_it_waits_for() {
    static HAS_RUN: AtomicBool = AtomicBool::new(false);

    #[repr(C)]
    struct Note(JobHeader);

    // SAFETY: 1. the header comes first, and is made for `Self`.
    unsafe impl Job for Note {
        unsafe fn execute(_this: *const ()) {
            HAS_RUN.store(true, SeqCst);
        }
    }

    with_worker(|worker| {
        let note = Note(JobHeader::new::<Note>());
        let mut node = TestQueue::node();
        // SAFETY: 1. both live until the job has run, below; 2. the pool lives.
        let job = unsafe {
            let job = JobRef::new(&raw const note);
            worker.fifo().push(NonNull::from(&mut node), job)
        };
        make_busy(ptr::null());
        // SAFETY: 1. it is run once.
        unsafe { worker.run(job) };
        assert!(HAS_RUN.load(SeqCst));
    });
}
