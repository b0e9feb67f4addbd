use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use super::*;
use crate::{CoreParker, Parker};

#[test]
fn smoke() {
    static POOL: SpinPool<TestCores<3, 4>> = pool(IdlePolicy::DEFAULT);
    with_workers(&POOL, || {
        assert_eq!(
            POOL.broadcast(|worker| worker.index()),
            [Some(0), Some(1), Some(2)]
        );
        let from_inside = POOL.install(|_| POOL.broadcast(|worker| worker.index() * 2));
        assert_eq!(from_inside, [Some(0), Some(2), Some(4)]);
    });
}

#[test]
fn absent_workers_take_no_part() {
    static POOL: SpinPool<TestCores<3, 4>> = pool(IdlePolicy::DEFAULT);
    assert_eq!(POOL.broadcast(|_| ()), [None, None, None]);
    let results = POOL.run_with(1, |_| POOL.broadcast(|worker| worker.index()));
    assert_eq!(results, Ok([None, Some(1), None]));
}

/// Broadcasts while workers arrive and leave: no job is lost, and no call waits forever.
#[test]
fn stampede() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    let runs = AtomicU32::new(0);
    thread::scope(|threads| {
        let steady = threads.spawn(|| POOL.run_worker(0).unwrap());
        let restless = threads.spawn(|| {
            for _ in 0..times(200) {
                POOL.run_with(1, |_| thread::yield_now()).unwrap();
            }
        });
        while !restless.is_finished() {
            let parts = POOL.broadcast(|_| runs.fetch_add(1, SeqCst));
            let count = parts.iter().flatten().count() as u32;
            assert_eq!(runs.swap(0, SeqCst), count);
        }
        POOL.end();
        steady.join().unwrap();
    });
}

/// A machine whose cores lose their turn when they have woken another one.
struct Courteous;

struct CourteousParker(<Host as Machine>::Parker);

impl Parker for CourteousParker {
    fn park(&self) {
        self.0.park();
    }

    fn unpark(&self) {
        self.0.unpark();
        (0..10).for_each(|_| thread::yield_now());
    }
}

impl CoreParker for CourteousParker {
    const NEW: Self = Self(CoreParker::NEW);
}

// SAFETY: 1. and 2. as for `Host`, whose pointers it has.
unsafe impl Machine for Courteous {
    type Local = <Host as Machine>::Local;
    type Parker = CourteousParker;
}

/// Broadcasts twice at the same time, with closures that wait for each other: if they were queued
/// in two orders, this would hang. Each thread lets the other one run after it has woken the first
/// worker.
#[test]
fn two_at_the_same_time() {
    static POOL: SpinPool<Cores<Courteous, 2, 4>> =
        SpinPool::with_idle_policy(IdlePolicy::IMMEDIATE);
    with_workers(&POOL, || {
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..times(50) {
                        let meeting = Barrier::new(2);
                        POOL.broadcast(|_| {
                            meeting.wait();
                        });
                    }
                });
            }
        });
    });
}
