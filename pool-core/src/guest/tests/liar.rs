//! A protocol that lends workers that are awake, and wakes hosts beside guests.

use std::{
    boxed::Box,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize as Tally, Ordering::SeqCst},
    },
    thread,
};

use sleep_core::{AwakeSet, CoreLatch, IdlePolicy, LendSeats, NewJobs, Purpose, SleepProtocol};

use super::super::*;
use crate::testing::{
    DEQUE_CAPACITY, Event, TestBusy, TestOn, TestParker, TestPlatform, TestProtocol, observe,
    observed, run_until_stopped, with_registry,
};

/// Claims that a searching worker sleeps, and lends it to any thread that asks.
struct Liar {
    truth: TestBusy,
    calls: Tally,
}

impl TestProtocol for Liar {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        let parkers: Box<[_]> = parkers.collect();
        Self {
            truth: TestBusy::new(parkers, IdlePolicy::IMMEDIATE),
            calls: Tally::new(0),
        }
    }
}

impl SleepProtocol for Liar {
    type Parker = TestParker;
    type IdleState = WorkerIndex;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.truth.num_workers()
    }

    fn parker(&self, worker: WorkerIndex) -> &TestParker {
        self.truth.parker(worker)
    }

    /// Does not count the search, because a guest may search as a worker that is already searching.
    fn start_looking(&self, worker: WorkerIndex, _purpose: Purpose) -> WorkerIndex {
        worker
    }

    /// Makes the worker take this for its last look before it parks, and does not park.
    fn no_work_found(
        &self,
        idle: &mut WorkerIndex,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        if !has_work() {
            observed(Event::Park);
            self.truth.no_work_found(idle, latch, || false);
        }
    }

    fn work_found(&self, _idle: WorkerIndex, _more_work: impl FnOnce() -> bool) {}

    fn announce(&self, _jobs: NewJobs<impl FnOnce() -> bool>) {}

    fn announce_for(&self, _workers: impl IntoIterator<Item = WorkerIndex>) {}

    fn all_are_awake(&self) -> bool {
        true
    }

    fn wake_worker(&self, _worker: WorkerIndex) -> bool {
        false
    }

    fn num_inactive(&self) -> usize {
        0
    }

    fn num_sleeping(&self) -> usize {
        0
    }
}

impl LendSeats for Liar {
    /// Returns the only worker, and at every second call one that the pool does not have.
    fn borrow_sleeper(&self, _eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        WorkerIndex::new(self.calls.fetch_add(1, SeqCst) % 2, 2).ok()
    }
}

impl AwakeSet for Liar {}

type Lied = TestOn<deque_core::Fixed<crate::JobRef, DEQUE_CAPACITY>, Liar>;

/// Fails if two threads use the worker at the same time.
struct InUse(AtomicBool);

impl InUse {
    fn use_worker(&self, worker: &WorkerThread<Lied>) {
        assert!(!self.0.swap(true, SeqCst), "two threads use one worker");
        for _ in 0..3 {
            assert_eq!(worker.join_context(|_| 1, |_| 2, false), (1, 2));
        }
        thread::yield_now();
        assert!(self.0.swap(false, SeqCst));
    }
}

#[test]
fn a_protocol_that_lies_does_not_make_two_threads_use_one_worker() {
    // How many of the guests find the seat vacant depends on chance.
    let (guests, attempts) = (2, if cfg!(miri) { 10 } else { 1_000 });
    let registry = Lied::registry(1);
    registry.data().store(true, SeqCst);
    let in_use = InUse(AtomicBool::new(false));
    with_registry(&registry, |registry| {
        thread::scope(|scope| {
            for _ in 0..guests {
                scope.spawn(|| {
                    for _ in 0..attempts {
                        _ = registry.try_call(|worker| in_use.use_worker(worker));
                        // On the worker's own thread, beside the guests.
                        registry.in_worker(|worker, _| in_use.use_worker(worker));
                    }
                });
            }
        });
    });
}

/// The worker's own loop vacates the seat before it sleeps. Below a guest that calls it are frames
/// that use the worker.
#[test]
fn a_guest_that_calls_the_loop_keeps_its_seat() {
    let registry = Lied::registry(1);
    registry.data().store(true, SeqCst);
    thread::scope(|scope| {
        let host = scope.spawn(|| {
            let index = registry.worker(0).unwrap();
            // SAFETY: 1. this frame holds the registry; 2. it is the `Arc`'s pointer.
            let worker = unsafe { WorkerThread::new(Arc::as_ptr(&registry), index) }.unwrap();
            // SAFETY: 1. it stays until it leaves.
            unsafe { worker.enter() };
            run_until_stopped(&worker);
            worker.leave();
        });
        let loop_as_guest = |worker: &WorkerThread<Lied>| {
            let (pool, index) = (registry.clone(), worker.index());
            let address = ptr::from_ref(worker).addr();
            let before_sleep = move |event| {
                if event == Event::Park {
                    assert_eq!(Lied::current().addr(), address, "the guest has left");
                    let other = thread::scope(|scope| {
                        let call =
                            || pool.try_call(|_| ()).is_ok() || pool.try_call(|_| ()).is_ok();
                        scope.spawn(call).join().unwrap()
                    });
                    assert!(!other, "two threads use one worker");
                    pool.request_stop(index);
                }
            };
            observe(Some(Box::new(before_sleep)));
            run_until_stopped(worker);
            observe(None);
        };
        // Liveness: the host, which never sleeps, vacates its seat again and again.
        while registry.try_call(loop_as_guest).is_err() {
            thread::yield_now();
        }
        host.join().unwrap();
    });
}
