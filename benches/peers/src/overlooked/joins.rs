//! Joins whose first halves wait for the second ones.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use super::{
    interruptions::{self, Interruptions},
    sleepers::Thread,
};
use crate::{
    computation::{spin, splitmix64},
    fork_join::ForkJoin,
    spawning::Spawning,
};

/// How many interruptions are counted in one repetition.
const INTERRUPTIONS: u32 = 250;
/// How long a worker runs between two of them, at most.
const MOST_BETWEEN: Duration = Duration::from_micros(200);
/// How many joins make one repetition that is not interrupted.
const JOINS: u32 = 20_000;
/// How long the worker waits before each of them, at most: longer than it takes another worker to
/// fall asleep.
const MOST_BEFORE: Duration = Duration::from_micros(50);

/// How long the first half waits before it asks whether all other workers sleep, and between two
/// such questions.
const PATIENCE: Duration = Duration::from_micros(200);
/// How often in a row all others must sleep. A worker that is just being woken sleeps no longer
/// then.
const QUESTIONS: u32 = 3;

/// The worker joins as fast as it can, and is held for two milliseconds again and again, at
/// whatever instruction it is. Returns how many jobs were overlooked per thousand interruptions.
pub(super) fn overlooked_when_interrupted<P: ForkJoin + Spawning>(pool: &P) -> f64 {
    let workers = workers(pool);
    let overlooked = pool.run(|context| {
        let others = others(&workers);
        let mut interruptions = Interruptions::of_this_thread();
        let mut random = random_durations(MOST_BETWEEN);
        let (mut count, mut overlooked) = (0, 0);
        interruptions.next_after(random());
        while count < INTERRUPTIONS {
            let has_begun = AtomicBool::new(false);
            let (is_overlooked, ()) = P::join(
                context,
                |_| {
                    let has_struck = interruptions::has_struck();
                    has_struck.then(|| is_overlooked(&has_begun, &others))
                },
                |_| has_begun.store(true, Ordering::Relaxed),
            );
            if let Some(is_overlooked) = is_overlooked {
                count += 1;
                overlooked += u32::from(is_overlooked);
                interruptions.next_after(random());
            }
        }
        overlooked
    });
    f64::from(overlooked) / f64::from(INTERRUPTIONS) * 1e3
}

/// The worker joins at random moments, so that others are anywhere on their way to sleep. Returns
/// how many jobs were overlooked per million.
pub(super) fn overlooked_undisturbed<P: ForkJoin + Spawning>(pool: &P) -> f64 {
    let workers = workers(pool);
    let overlooked = pool.run(|context| {
        let others = others(&workers);
        let mut random = random_durations(MOST_BEFORE);
        let mut overlooked = 0;
        for _ in 0..JOINS {
            spin(random());
            let has_begun = AtomicBool::new(false);
            let (is_overlooked, ()) = P::join(
                context,
                |_| is_overlooked(&has_begun, &others),
                |_| has_begun.store(true, Ordering::Relaxed),
            );
            overlooked += u32::from(is_overlooked);
        }
        overlooked
    });
    f64::from(overlooked) / f64::from(JOINS) * 1e6
}

/// Waits until a job has begun or all these threads sleep nevertheless.
fn is_overlooked(has_begun: &AtomicBool, others: &[Thread]) -> bool {
    let mut asleep = 0;
    while asleep < QUESTIONS {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if has_begun.load(Ordering::Relaxed) {
                return false;
            }
        }
        let all_sleep = others.iter().all(Thread::is_asleep);
        asleep = if all_sleep { asleep + 1 } else { 0 };
    }
    !has_begun.load(Ordering::Relaxed)
}

fn workers<P: Spawning>(pool: &P) -> Vec<Thread> {
    let workers = Mutex::new(Vec::new());
    let count = pool.broadcast(|| {
        let mut workers = workers.lock().expect("no panics");
        workers.push(Thread::current());
    });
    let workers = workers.into_inner().expect("no panics");
    assert_eq!(workers.len(), count);
    workers
}

/// All of these threads but the one that calls.
fn others(workers: &[Thread]) -> Vec<Thread> {
    let current = Thread::current();
    let others = workers.iter().filter(|&worker| *worker != current);
    others.copied().collect()
}

/// Durations below this one, the same in each run.
fn random_durations(most: Duration) -> impl FnMut() -> Duration {
    let mut state = 0;
    move || {
        state = splitmix64(state);
        most.mul_f64(state as f64 / u64::MAX as f64)
    }
}
