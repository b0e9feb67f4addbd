//! A worker that passes to another thread and back. A thread that is not notified in time is a
//! deadlock, and two threads that are the worker at the same time conflict; loom reports both.
//!
//! What fails if something were missing:
//! - `a_join_across_a_loan_against_a_thief`: the latch that the lender sets when its closure has
//!   ended.
//! - All models, which use a frame after its end: the lender's wait for the borrower.
//! - Each model: the latch that the borrower's drop sets; the note that the worker is back.
//! - `the_borrower_runs_the_jobs_of_the_lender`: the borrower's wait, in which it runs jobs.
//! - `a_borrower_that_blocks_is_reported_after_the_closure`: the detection's count of closures that
//!   have not ended, or the look at the end of a closure.

use std::sync::Arc;

use ::loom::{cell::UnsafeCell, thread};
use sleep_core::Parker as _;

use super::super::*;
use crate::{
    Registry,
    job::StackJob,
    testing::{Test, TestParker, model, registry, with_worker},
};

/// What belongs to the thread that is the worker. Loom reports accesses that nothing orders.
struct Owned(UnsafeCell<u32>);

// SAFETY: that is what the models check.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Owned {
    fn new() -> Arc<Self> {
        Arc::new(Self(UnsafeCell::new(0)))
    }

    /// Adds 1, and returns the sum.
    fn use_it(&self) -> u32 {
        self.0.with_mut(|value| {
            // SAFETY: loom checks that no other thread uses it.
            unsafe {
                *value += 1;
                *value
            }
        })
    }
}

/// Lends a worker to a thread that is started for it, and returns that thread. The thread calls
/// `begin` first.
fn lend_to_new<P: Platform>(
    worker: &WorkerThread<P>,
    begin: impl FnOnce() + Send + 'static,
    closure: impl FnOnce() + Send,
) -> thread::JoinHandle<()> {
    let mut borrower = None;
    let give = |lent: LentWorker<P>| {
        borrower = Some(thread::spawn(move || {
            lent.run(begin);
            assert!(P::current().is_null(), "the worker was returned");
        }));
    };
    // SAFETY: 1. the closures of these models do not use the worker.
    unsafe {
        worker.lend(give, || {
            assert!(P::current().is_null(), "the worker is lent");
            closure();
        });
    }
    assert!(ptr::eq(P::current(), worker), "the worker is back");
    borrower.unwrap()
}

/// Models a closure that ends at any moment: before the borrower begins, while it looks for work,
/// or while it sleeps as the worker.
#[test]
fn a_worker_is_returned() {
    model(3, || {
        let owned = Owned::new();
        let registry = registry::<Test>(1);
        with_worker(&registry, 0, |worker| {
            assert_eq!(owned.use_it(), 1);
            let of_borrower = owned.clone();
            let borrower = lend_to_new(worker, move || _ = of_borrower.use_it(), || ());
            assert_eq!(owned.use_it(), 3);
            borrower.join().unwrap();
        });
    });
}

/// Models a lent worker that another thread drops without running it.
#[test]
fn a_worker_that_no_thread_takes_is_returned() {
    model(3, || {
        let owned = Owned::new();
        let registry = registry::<Test>(1);
        with_worker(&registry, 0, |worker| {
            let mut dropped = None;
            let of_other = owned.clone();
            let give = |lent| {
                dropped = Some(thread::spawn(move || {
                    // For the thread that has it, the worker is in its hands until it is dropped.
                    of_other.use_it();
                    drop::<LentWorker<Test>>(lent);
                }));
            };
            // SAFETY: 1. the closures do not use the worker.
            unsafe { worker.lend(give, || ()) };
            assert_eq!(owned.use_it(), 2);
            dropped.unwrap().join().unwrap();
        });
    });
}

/// Models a job that the lender has queued, and for which its closure waits. The borrower runs it:
/// it pops what another thread has pushed.
#[test]
fn the_borrower_runs_the_jobs_of_the_lender() {
    model(2, || {
        let owned = Owned::new();
        let registry = registry::<Test>(1);
        with_worker(&registry, 0, |worker| {
            owned.use_it();
            let of_job = owned.clone();
            let latch = BlockingLatch::<Test>::new();
            let job = StackJob::new(|_| of_job.use_it(), latch);
            // SAFETY: `as_job_ref`: 1. it stays until the latch is set; `post`: 1. once;
            // `take_result`: 1. the latch is set; 2. once.
            unsafe {
                worker.post(job.as_job_ref());
                let latch = SendPointer(job.latch());
                let borrower = lend_to_new(worker, || (), move || (*latch.get()).wait());
                assert_eq!(job.take_result(), 2);
                assert_eq!(owned.use_it(), 3);
                borrower.join().unwrap();
            }
        });
    });
}

struct SendPointer<T>(*const T);

// SAFETY: the latch is used by the thread that made it, and by the one that sets it.
unsafe impl<T> Send for SendPointer<T> {}

impl<T> SendPointer<T> {
    fn get(&self) -> *const T {
        self.0
    }
}

/// Models a join whose first half lends the worker, while a thief looks for work. The second half
/// is run by the borrower, by the thief, or by the lender when it has its worker back.
#[test]
fn a_join_across_a_loan_against_a_thief() {
    model(2, || {
        let registry = registry::<Test>(2);
        with_worker(&registry, 0, |worker| {
            let thief = {
                let registry = registry.clone();
                thread::spawn(move || {
                    with_worker(&registry, 1, |worker: &WorkerThread<Test>| {
                        worker.yield_now();
                    });
                })
            };
            let (borrower, second) =
                worker.join_context(|_| lend_to_new(worker, || (), || ()), |_| 2, false);
            assert_eq!(second, 2);
            borrower.join().unwrap();
            thief.join().unwrap();
        });
    });
}

#[cfg(feature = "deadlock")]
mod detection {
    use std::sync::atomic::{AtomicBool, AtomicUsize as Tally, Ordering::SeqCst};

    use super::*;
    use crate::testing::{Accounted, accounting::accounted};

    /// Models a borrower that blocks while the closure goes on, and ends. The closure might end the
    /// wait, so the report comes when the closure has ended, and it comes once.
    #[test]
    fn a_borrower_that_blocks_is_reported_after_the_closure() {
        model(3, || {
            let reported = Arc::new(TestParker::new());
            let reports = Arc::new(Tally::new(0));
            let has_ended = Arc::new(AtomicBool::new(false));
            let known = (reported.clone(), reports.clone(), has_ended.clone());
            let registry: Arc<Registry<Accounted>> = accounted(1, move |_| {
                assert!(known.2.load(SeqCst), "reported while the closure goes on");
                known.1.fetch_add(1, SeqCst);
                known.0.unpark();
            });
            with_worker(&registry, 0, |worker| {
                let begin = move || {
                    // SAFETY: 1. this thread is the worker.
                    let worker = unsafe { WorkerThread::<Accounted>::current() }.unwrap();
                    let ticket = worker.mark_blocked().unwrap();
                    reported.park();
                    let deadlock = worker.registry().deadlock();
                    deadlock.mark_self_unblocked(ticket).unwrap();
                };
                let borrower = lend_to_new(worker, begin, || has_ended.store(true, SeqCst));
                borrower.join().unwrap();
            });
            assert_eq!(reports.load(SeqCst), 1);
        });
    }
}
