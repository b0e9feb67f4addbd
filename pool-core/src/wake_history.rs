//! What the wake-ups for joins have come to: whether the next join should wake a worker.

use crate::primitive::{AtomicU32, Ordering};

#[cfg(all(test, not(loom)))]
mod tests;

/// After so many wake-ups in a row for nothing, a join leaves its wake-up out.
const MOST_FRUITLESS: u32 = 8;
/// A join that left its wake-up out and took longer, in nanoseconds, would have been helped by it. A worker that is woken
/// takes about as long until it has found a job.
const WORTH_A_WAKE_UP: u64 = 20_000;
/// So many joins of one job leave their wake-ups out. The next one wakes a worker, and with all workers awake the rest need
/// not ask.
pub(crate) const MOST_LEFT_OUT: u32 = 16;

/// How many wake-ups in a row were for nothing: a worker that was woken slept again without a job from another worker's
/// deque.
///
/// A caller with many small regions would wake a worker for each, which comes when the region is over. That takes the caller
/// some microseconds, in which it could have computed the whole region. So joins of a pool in which this happens again and again
/// leave the wake-up out, and measure whether it would have paid. The first one that was long makes all joins wake workers
/// again.
///
/// Only joins ask, whose poster runs the job itself if no thief comes. So nothing depends on it but time.
pub(crate) struct WakeHistory {
    fruitless: AtomicU32,
}

impl WakeHistory {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self { fruitless: AtomicU32::new(0) }
        }
    }

    /// Whether a wake-up for a join is for nothing, more likely than not.
    pub(crate) fn is_fruitless(&self) -> bool {
        // Ordering: Relaxed here and below; a count that decides how long something takes, and nothing else.
        self.fruitless.load(Ordering::Relaxed) >= MOST_FRUITLESS
    }

    /// Records that a worker was woken and slept again without a job.
    pub(crate) fn record_fruitless(&self) {
        let fruitless = self.fruitless.load(Ordering::Relaxed);
        if fruitless < MOST_FRUITLESS {
            // A count that another worker changes meanwhile is off by one.
            self.fruitless.store(fruitless + 1, Ordering::Relaxed);
        }
    }

    /// Records that a worker was woken and has found a job on another worker's deque.
    pub(crate) fn record_useful(&self) {
        // A line that is not written stays in the caches of all posters.
        if self.fruitless.load(Ordering::Relaxed) > 0 {
            self.fruitless.store(0, Ordering::Relaxed);
        }
    }

    /// Records how long a join has taken, in nanoseconds, that left its wake-up out.
    pub(crate) fn record_duration(&self, duration: u64) {
        if duration > WORTH_A_WAKE_UP {
            self.record_useful();
        }
    }
}
