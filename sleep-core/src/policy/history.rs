//! What a worker has learned about its rounds.

use super::IdlePolicy;
use crate::{
    parker::Parker,
    primitive::{AtomicUsize, LoadStoreU8, Ordering},
};

/// A sixteenth of the rounds is left. The default policy's four take two microseconds, far less than the wake-up of a
/// worker that has slept for as short a time.
const MOST_HALVINGS: u8 = 4;

/// Whether rounds of one worker have paid off lately: how often to halve their number.
///
/// Kept with the worker. If the worker changes its thread, what hands the worker over hands this over too; and if it
/// did not, the number of rounds would be an older one.
pub(crate) struct History {
    /// The worker alone writes this.
    halvings: LoadStoreU8,
    /// When a thread last woke the worker, in nanoseconds of the clock of its parker, as far as a word goes. Wakers
    /// write this.
    woken_at: AtomicUsize,
}

impl History {
    const_unless_loom! {
        /// Creates the history of a worker whose rounds may pay off.
        pub(crate) fn new() -> Self {
            Self { halvings: LoadStoreU8::new(0), woken_at: AtomicUsize::new(0) }
        }
    }

    /// Returns how many rounds the worker does before it gets sleepy.
    pub(super) fn rounds(&self, policy: &IdlePolicy) -> u32 {
        policy.rounds_until_sleepy >> self.halvings()
    }

    /// Notes that the calling thread is about to wake the worker.
    #[inline]
    pub(crate) fn note_wake(&self, parker: &impl Parker) {
        if let Some(now) = parker.now() {
            // Ordering: Relaxed. A worker that misses this takes itself for idle until its thread runs.
            self.woken_at.store(now as usize, Ordering::Relaxed);
        }
    }

    /// Returns for how long there was no work for a worker that has slept: from the moment in which it had none until
    /// another thread woke it. How long it took until the worker's thread ran does not count, since a worker that
    /// searches would have found the work before.
    pub(super) fn time_without_work(&self, began: u64, now: u64) -> u64 {
        let until_it_ran = now.saturating_sub(began);
        // If no waker has noted the time, this is later than the present moment. A word of 32 bits overflows after
        // four seconds, so a longer sleep can look like a short one, rarely. Then there are a few rounds more.
        let woken_at = self.woken_at.load(Ordering::Relaxed);
        let until_woken = woken_at.wrapping_sub(began as usize);
        until_it_ran.min(until_woken as u64)
    }

    /// Notes that rounds have found work, or would have.
    pub(super) fn record_success(&self) {
        self.set(self.halvings().saturating_sub(1));
    }

    /// Notes that rounds were, or would have been, in vain.
    pub(super) fn record_failure(&self) {
        self.set(MOST_HALVINGS.min(self.halvings() + 1));
    }

    fn halvings(&self) -> u8 {
        // Ordering: Relaxed; the worker alone reads and writes this.
        self.halvings.load(Ordering::Relaxed)
    }

    fn set(&self, halvings: u8) {
        // Ordering: Relaxed, as above.
        self.halvings.store(halvings, Ordering::Relaxed);
    }
}
