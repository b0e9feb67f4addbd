//! Pools whose sleep protocol keeps none of its promises. Memory safety does not rest on them:
//! under Miri these tests would report what else does.

use std::{
    boxed::Box,
    cell::Cell,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use sleep_core::{AwakeSet, CoreLatch, Hint, LendSeats, NewJobs, Purpose, SleepProtocol};

use super::super::*;
use crate::testing::{Test, TestOn, TestParker, TestPlatform, TestProtocol, with_pool_on};

/// A protocol that wakes no worker, counts nothing, and asks its questions at the wrong times. All
/// that it keeps is that its workers do not sleep, since a pool that hangs shows nothing.
struct Careless {
    parkers: Box<[TestParker]>,
    calls: AtomicUsize,
}

impl Careless {
    fn every(&self, calls: usize) -> bool {
        self.calls.fetch_add(1, Relaxed).is_multiple_of(calls)
    }
}

impl TestProtocol for Careless {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        Self {
            parkers: parkers.collect(),
            calls: AtomicUsize::new(0),
        }
    }
}

impl SleepProtocol for Careless {
    type Parker = TestParker;
    /// Panics nowhere, but is dropped in the middle of a search.
    type IdleState = Option<Box<Cell<usize>>>;
    type Hint = Hint;

    fn num_workers(&self) -> usize {
        self.parkers.len()
    }

    /// Gives every worker the first one's parker.
    fn parker(&self, _worker: WorkerIndex) -> &TestParker {
        &self.parkers[0]
    }

    fn start_looking(&self, worker: WorkerIndex, _purpose: Purpose) -> Self::IdleState {
        Some(Box::new(Cell::new(worker.get())))
    }

    /// Asks whether there is work without having registered as a sleeper, and ignores the answer.
    fn no_work_found(
        &self,
        idle: &mut Self::IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> Hint {
        if self.every(3) {
            *idle = None;
        } else if self.every(2) {
            has_work();
        } else {
            // Never notes that the worker is asleep.
            _ = latch.get_sleepy();
            // Nor that it is awake again, unless debug assertions would find that.
            if cfg!(debug_assertions) {
                latch.wake_up();
            }
        }
        std::thread::yield_now();
        // Of a worker that no pool here has.
        Hint::Worker(u16::MAX)
    }

    /// Asks for more work, and wakes no worker for it.
    fn work_found(&self, _idle: Self::IdleState, more_work: impl FnOnce() -> bool) {
        more_work();
    }

    fn announce(&self, _jobs: NewJobs<impl FnOnce() -> bool>) {}

    fn announce_for(&self, _workers: impl IntoIterator<Item = WorkerIndex>) {}

    fn all_are_awake(&self) -> bool {
        self.every(2)
    }

    fn wake_worker(&self, _worker: WorkerIndex) -> bool {
        self.every(2)
    }

    fn num_inactive(&self) -> usize {
        0
    }

    fn num_sleeping(&self) -> usize {
        0
    }
}

impl LendSeats for Careless {}

impl AwakeSet for Careless {
    /// Asks about each worker twice, the caller too, also when it has an answer, and tells another
    /// one.
    fn any_awake(
        &self,
        _caller: Option<WorkerIndex>,
        _first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let count = self.num_workers();
        // One number belongs to a larger pool.
        for index in (0..=count).chain(0..count) {
            holds(WorkerIndex::new(index, count + 1).unwrap());
        }
        self.every(2)
    }
}

type Fixed = TestOn<<Test as Platform>::Storage, Careless>;
type Growing = TestOn<<crate::testing::Growing as Platform>::Storage, Careless>;

fn sum<P: TestPlatform>(numbers: &[u32]) -> u32 {
    // SAFETY: 1. it is used at once.
    let worker = unsafe { WorkerThread::<P>::current() }.unwrap();
    match numbers {
        [] => 0,
        [number] => *number,
        _ => {
            let (left, right) = numbers.split_at(numbers.len() / 2);
            let (a, b) = worker.join_context(|_| sum::<P>(left), |_| sum::<P>(right), false);
            a + b
        }
    }
}

/// Joins on a pool with that protocol, with borrows of the caller's frame in every job.
fn joins<P: TestPlatform>() {
    let numbers: std::vec::Vec<u32> = (0..if cfg!(miri) { 10 } else { 1_000 }).collect();
    for _ in 0..if cfg!(miri) { 1 } else { 50 } {
        let total =
            with_pool_on::<P, _>(3, |registry| registry.in_worker(|_, _| sum::<P>(&numbers)));
        assert_eq!(total, numbers.iter().sum::<u32>());
    }
}

#[test]
fn a_careless_protocol_breaks_no_join() {
    joins::<Fixed>();
    joins::<Growing>();
}
