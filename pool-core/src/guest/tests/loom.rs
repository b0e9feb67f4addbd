//! Guests against the end of the pool, against each other, and against thieves. A thread that is
//! not woken in time is a deadlock, and two threads that use one worker conflict; loom reports
//! both.
//!
//! What fails if something were missing:
//! - `two_guests_and_the_host_take_turns`: the acquire of `Seat::occupy`, or the release of
//!   `Seat::vacate`; the acquire of `Seat::reclaim`.
//! - `a_call_against_the_end_of_the_pool`: the look at the request to stop when a guest leaves, or
//!   the fence of the request.
//! - `a_job_that_a_guest_leaves_is_run`: the look at the queues when a guest leaves.
//! - `a_job_for_the_seat_against_a_guest`: the look at the inbox when a guest leaves.

use std::sync::{
    Arc,
    atomic::{AtomicBool as Seen, Ordering::SeqCst},
};

use ::loom::{cell::UnsafeCell, thread};

use super::super::*;
use crate::{
    job::StackJob,
    latch::BlockingLatch,
    queue::JobQueue as _,
    testing::{Test, TestQueue, model, registry, run_until_terminated, with_registry},
};

/// Runs `body` with a pool of one worker that has guests.
fn with_guests(body: impl FnOnce(&Arc<Registry<Test>>)) {
    let registry = registry::<Test>(1);
    registry.data().store(true, SeqCst);
    with_registry(&registry, |registry| body(registry));
}

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

    fn use_it(&self) {
        // SAFETY: loom checks that no other thread uses it.
        self.0.with_mut(|value| unsafe { *value += 1 });
    }
}

#[test]
fn a_call_against_the_end_of_the_pool() {
    static CAME: Seen = Seen::new(false);
    model(3, || {
        with_guests(|registry| {
            let other = {
                let registry = registry.clone();
                thread::spawn(move || _ = registry.try_call(|_| CAME.store(true, SeqCst)))
            };
            registry.request_stop(registry.worker(0).unwrap());
            other.join().unwrap();
            assert!(Test::current().is_null(), "the guest has left");
        });
    });
    assert!(CAME.load(SeqCst), "some guests came");
}

/// Models a seat alone, with its host and two guests. The protocol's own models show what a
/// protocol does with two guests.
#[test]
fn two_guests_and_the_host_take_turns() {
    let model = || {
        let seat = Arc::new(Seat::<Test>::new());
        let owned = Owned::new();
        let worker: *const WorkerThread<Test> = ptr::without_provenance(4096);
        let guests = [(); 2].map(|()| {
            let (seat, owned) = (seat.clone(), owned.clone());
            thread::spawn(move || {
                if let Some(worker) = seat.occupy() {
                    owned.use_it();
                    seat.vacate(worker);
                }
            })
        });
        owned.use_it();
        seat.vacate(worker);
        while !seat.reclaim(worker) {
            thread::yield_now();
        }
        owned.use_it();
        for guest in guests {
            guest.join().unwrap();
        }
    };
    ::loom::model(model);
}

#[test]
fn a_job_that_a_guest_leaves_is_run() {
    model(2, || {
        with_guests(|registry| {
            let job = StackJob::new(|_| 7, BlockingLatch::<Test>::new());
            // SAFETY: `as_job_ref`: 1. it stays until the latch is set, 2. which any thread may
            // set; `post`: 1. once; `take_result`: 1. the latch is set; 2. once.
            unsafe {
                let job_ref = job.as_job_ref();
                registry.call(|worker, _| worker.post(job_ref));
                job.latch().wait();
                assert_eq!(job.take_result(), 7);
            }
        });
    });
}

#[test]
fn a_job_for_the_seat_against_a_guest() {
    model(2, || {
        with_guests(|registry| {
            let job = StackJob::new(|_| 7, BlockingLatch::<Test>::new());
            let mut node = TestQueue::node();
            let other = {
                let registry = registry.clone();
                thread::spawn(move || _ = registry.try_call(|_| ()))
            };
            // SAFETY: as above; `inject_broadcast`: 1. the node stays as long as the job.
            unsafe {
                let jobs = [(core::ptr::NonNull::from(&mut node), job.as_job_ref())];
                registry.inject_broadcast(jobs.into_iter());
                job.latch().wait();
                assert_eq!(job.take_result(), 7);
            }
            other.join().unwrap();
        });
    });
}

/// Models a guest whose second half may be stolen, so that it sleeps beside its host.
#[test]
fn a_guest_that_joins_against_a_thief() {
    model(2, || {
        let registry = registry::<Test>(2);
        registry.data().store(true, SeqCst);
        let run = |index: usize, part: fn(&WorkerThread<Test>)| {
            let registry = registry.clone();
            thread::spawn(move || {
                let index = registry.worker(index).unwrap();
                // SAFETY: 1. this closure holds the registry; 2. it is the `Arc`'s pointer.
                let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap();
                // SAFETY: 1. the worker stays in place until it leaves.
                unsafe { worker.enter() };
                part(&worker);
                worker.leave();
            })
        };
        let host = run(0, run_until_terminated);
        let thief = run(1, |worker| _ = worker.yield_now());
        let _ = registry.try_call(|worker| {
            assert_eq!(worker.join_context(|_| 1, |_| 2, false), (1, 2));
        });
        registry.remove_reference();
        host.join().unwrap();
        thief.join().unwrap();
    });
}
