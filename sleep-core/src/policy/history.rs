//! What a worker has learned about its rounds.

use super::IdlePolicy;
use crate::primitive::{LoadStoreU8, Ordering};

/// A sixteenth of the rounds is left. The default policy's four take two microseconds, far less than the wake-up of a
/// worker that has slept for as short a time.
const MOST_HALVINGS: u8 = 4;

/// Whether rounds of one worker have paid off lately: how often to halve their number.
///
/// Kept with the worker, which alone writes it. If the worker changes its thread, what hands the worker over hands
/// this over too; and if it did not, the number of rounds would be an older one.
pub(crate) struct History {
    halvings: LoadStoreU8,
}

impl History {
    const_unless_loom! {
        /// Creates the history of a worker whose rounds may pay off.
        pub(crate) fn new() -> Self {
            Self { halvings: LoadStoreU8::new(0) }
        }
    }

    /// Returns how many rounds the worker does before it gets sleepy.
    pub(super) fn rounds(&self, policy: &IdlePolicy) -> u32 {
        policy.rounds_until_sleepy >> self.halvings()
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
