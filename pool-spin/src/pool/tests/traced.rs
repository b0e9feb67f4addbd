//! Who has woken a worker, in its trace.

use std::{sync::OnceLock, time::Instant, vec::Vec};

use super::*;
use crate::{Event, Spin, WokenBy, host::Yield};

/// A host with a clock whose parkers note who unparks them.
struct Noting;

// SAFETY: 1. and 2. as for `Host`, whose pointers it has.
unsafe impl Machine for Noting {
    type Local = <Host as Machine>::Local;
    type Parker = Traced<Spin<Yield>, Self>;

    fn nanoseconds() -> Option<u64> {
        static START: OnceLock<Instant> = OnceLock::new();
        let start = START.get_or_init(Instant::now);
        Some(start.elapsed().as_nanos() as u64 + 1)
    }
}

/// Returns when a worker was woken, and by whom.
fn wake_ups<S: System>(pool: &'static SpinPool<S>, worker: usize) -> Vec<(u64, WokenBy)> {
    let events = pool.trace(worker).unwrap();
    let wake_ups = events.filter_map(|it| match it.event {
        Event::Wake(by) => Some((it.time, by)),
        _ => None,
    });
    wake_ups.collect()
}

/// Wakes a worker until its trace names the waker: a worker that is about to park finds itself
/// awake before there is a note.
fn wake_until_named<S: System>(pool: &'static SpinPool<S>, worker: usize, waker: u32) {
    for _ in 0..1_000 {
        while pool.num_sleeping() == 0 {
            thread::yield_now();
        }
        pool.wake_worker(worker).unwrap();
        let mut wake_ups = wake_ups(pool, worker).into_iter();
        if wake_ups.any(|(_, by)| by.waker == waker && by.at > 0) {
            return;
        }
    }
    panic!("worker {worker} was never woken by {waker}");
}

#[test]
fn a_wake_up_names_the_worker_that_gave_it() {
    static POOL: SpinPool<Cores<Noting, 2, 8>> = SpinPool::with_idle_policy(IdlePolicy::IMMEDIATE);
    with_workers(&POOL, || {
        let waker = POOL.install(|core| {
            let waker = core.index();
            wake_until_named(&POOL, 1 - waker, waker as u32 + 1);
            waker
        });
        // This thread is not a worker.
        wake_until_named(&POOL, waker, 0);
        for worker in 0..2 {
            for (time, by) in wake_ups(&POOL, worker) {
                let other = 2 - worker as u32;
                assert!([0, other].contains(&by.waker), "{worker}: {by:?}");
                assert!(by.at <= time, "{worker}: {by:?} at {time}");
            }
        }
    });
}
