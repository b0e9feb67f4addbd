//! Whether any check runs.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many checks run. While none does, no thread looks whether it plays an actor.
static CHECKS: AtomicUsize = AtomicUsize::new(0);

/// Counts a check while it runs.
pub(super) struct Check;

impl Check {
    pub(super) fn begin() -> Self {
        // Ordering: Relaxed; a thread that plays an actor was spawned after this.
        CHECKS.fetch_add(1, Relaxed);
        Self
    }

    #[inline]
    pub(super) fn any_runs() -> bool {
        // Ordering: Relaxed, as above.
        CHECKS.load(Relaxed) > 0
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        // Ordering: Relaxed, as above.
        CHECKS.fetch_sub(1, Relaxed);
    }
}
