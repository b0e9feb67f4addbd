//! Short cycles, for many wake-ups in little time: jobs from outside for pools that stay.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
};

use pool_std::ThreadPool;

use super::{wait_for_asleep, watchdog::Progress};

/// How many cycles there are between two looks at the metrics.
const BATCH: u64 = 16;
/// While a worker falls asleep it is overtaken by a caller that yields less often than this.
const YIELDS: u64 = 8;

/// What was done.
#[derive(Default)]
pub(crate) struct Total {
    pub(crate) cycles: u64,
    /// How many workers were woken.
    pub(crate) wakes: u64,
}

/// Lets a pool sleep and wakes it until its workers were woken so many times. Before every second
/// cycle all of them sleep; otherwise they are anywhere on their way.
pub(crate) fn cycles(pool: &ThreadPool, wakes: u64, progress: &Progress) -> Total {
    let workers = pool.current_num_threads();
    let finished = Arc::new(AtomicU64::new(0));
    let (mut cycle, mut posted) = (0, 0);
    loop {
        let woken = if crate::HAS_METRICS {
            pool.metrics().sum().wakes
        } else {
            // At least one in each cycle that began while all slept.
            cycle / 2
        };
        if woken >= wakes {
            return Total {
                cycles: cycle,
                wakes: woken,
            };
        }
        for _ in 0..BATCH {
            if cycle % 2 == 0 {
                wait_for_asleep(pool, workers);
            } else {
                (0..cycle / 2 % YIELDS).for_each(|_| thread::yield_now());
            }
            for _ in 0..=cycle / (2 * YIELDS) % workers as u64 {
                posted += 1;
                let finished = finished.clone();
                pool.spawn(move || _ = finished.fetch_add(1, SeqCst));
            }
            // Liveness: ends when the workers have run what was posted. A lost wake-up makes it
            // hang.
            while finished.load(SeqCst) < posted {
                thread::yield_now();
            }
            cycle += 1;
        }
        progress.step();
    }
}
