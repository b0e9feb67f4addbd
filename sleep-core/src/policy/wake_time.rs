//! When a worker was last woken.

use crate::{
    parker::Parker,
    primitive::{AtomicUsize, Ordering},
};

/// When another thread last woke a worker: by it, the worker tells for how long there was no work
/// from how long its own wake-up took.
///
/// Kept with the worker, and written by its wakers. No step of a protocol reads it, but for the
/// number of rounds. Not a part of [`History`](super::History), so that a slot wastes no bytes
/// between the two.
pub(crate) struct WakeTime {
    /// By the clock of the worker's parker, as many nanoseconds as a word holds.
    nanoseconds: AtomicUsize,
}

impl WakeTime {
    const_unless_loom! {
        /// Creates the time of a worker that was never woken.
        pub(crate) fn new() -> Self {
            Self { nanoseconds: AtomicUsize::new(0) }
        }
    }

    /// Notes that the calling thread has just unparked the worker. Called after that, so that
    /// reading the clock does not delay the worker.
    #[inline]
    pub(crate) fn note(&self, parker: &impl Parker) {
        if let Some(now) = parker.now() {
            // Ordering: Relaxed. A worker that misses this takes itself for idle until its thread
            // runs. One that sleeps again by now takes that sleep for a shorter one.
            self.nanoseconds.store(now as usize, Ordering::Relaxed);
        }
    }

    /// Returns the later one of this time and another one, which is not older than two seconds
    /// where a word has 32 bits.
    pub(super) fn later(&self, other: u64) -> u64 {
        // Ordering: Relaxed, as above.
        let since = self
            .nanoseconds
            .load(Ordering::Relaxed)
            .wrapping_sub(other as usize);
        match usize::try_from(since.cast_signed()) {
            Ok(since) => other + since as u64,
            Err(_) => other,
        }
    }

    /// Returns for how long there was no work for a worker that has slept: from the moment in which
    /// it had none until another thread woke it. How long it took until the worker's thread ran
    /// does not count, since a worker that searches would have found the work before.
    ///
    /// `None` without a clock.
    pub(super) fn time_without_work(&self, began: u64, parker: &impl Parker) -> Option<u64> {
        // Ordering: Relaxed, as above.
        let woken_at = self.nanoseconds.load(Ordering::Relaxed);
        // A word of 32 bits holds four seconds, so that a longer sleep can look like a short one,
        // rarely. Then there are a few rounds more.
        let until_woken = woken_at.wrapping_sub(began as usize);
        if until_woken.cast_signed() >= 0 {
            return Some(until_woken as u64);
        }
        // The time of an earlier wake-up: that of this one has not been noted yet.
        parker.now().map(|now| now.saturating_sub(began))
    }
}
