use std::vec::Vec;

use super::*;
use crate::Purpose;
use crate::testing::{TestJec, TestProtocol};

/// Two of these are few, and three are many.
const WORKERS: usize = 2 * ONE_IN;

/// Processors without 64-bit atomics have few workers, and no bits.
const HAVE_BITS: bool = cfg!(target_has_atomic = "64");

/// Creates a pool whose workers from `awake` on sleep.
fn pool(awake: usize) -> TestJec {
    let sleep: TestJec = TestProtocol::new(WORKERS, IdlePolicy::IMMEDIATE);
    for worker in awake..WORKERS {
        sleep.shared.counters.add_inactive_thread();
        let jec = sleep.shared.counters.make_jec_sleepy();
        assert!(sleep.shared.counters.try_add_sleeping_thread(jec).is_ok());
        sleep.shared.sleepers.add(sleep.slots(), worker);
    }
    sleep
}

/// Returns the workers that may be awake, as another worker sees it, or a thread that is none.
fn awake(sleep: &TestJec, caller: Option<usize>, first: usize) -> Vec<usize> {
    let mut awake = Vec::new();
    let caller = caller.map(|caller| sleep.worker(caller).unwrap());
    let holds = |worker: WorkerIndex| {
        awake.push(worker.get());
        false
    };
    assert!(!sleep.any_awake(caller, first, holds));
    awake
}

/// Lets the first worker note how many are awake.
fn look(sleep: &TestJec) {
    let idle = sleep.start_looking(sleep.worker(0).unwrap(), Purpose::Job);
    sleep.work_found(idle, || false);
}

#[test]
fn no_worker_is_awake_beside_the_caller() {
    let sleep = pool(1);
    look(&sleep);
    if HAVE_BITS {
        assert_eq!(awake(&sleep, Some(0), 0), []);
        assert_eq!(awake(&sleep, None, 5), [0]);
        assert_eq!(awake(&pool(0), None, 5), []);
    }
}

#[test]
fn few_workers_are_awake() {
    let sleep = pool(2);
    look(&sleep);
    if HAVE_BITS {
        assert_eq!(awake(&sleep, Some(0), 7), [1]);
        assert_eq!(awake(&sleep, None, 0), [0, 1]);
    }
}

#[test]
fn many_workers_may_be_awake() {
    let sleep = pool(3);
    look(&sleep);
    let others: Vec<_> = (7..WORKERS).chain(1..7).collect();
    assert_eq!(awake(&sleep, Some(0), 7), others);
    assert_eq!(awake(&sleep, None, 0).len(), WORKERS);
}

/// Checks that a worker does not ask the counters if many were awake when it last did.
#[test]
fn a_worker_goes_by_what_it_has_noted() {
    let sleep = pool(2);
    let others: Vec<_> = (1..WORKERS).collect();
    assert_eq!(awake(&sleep, Some(0), 0), others);
    sleep.note_awake_after_sleep(sleep.worker(0).unwrap());
    if HAVE_BITS {
        assert_eq!(awake(&sleep, Some(0), 0), [1]);
    }
}

#[test]
fn the_walk_stops_when_holds_returns_true() {
    for workers_awake in 1..=3 {
        let mut calls = 0;
        assert!(pool(workers_awake).any_awake(None, 0, |_| {
            calls += 1;
            true
        }));
        assert_eq!(calls, 1);
    }
}
