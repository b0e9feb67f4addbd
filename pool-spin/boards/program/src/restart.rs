//! The pool ends and begins again; the other cores wait for that.

use core::hint::spin_loop;

use portable_atomic::{AtomicUsize, Ordering};

use crate::{Pool, board::Board};

/// How often the pool has been restarted.
static RESTARTS: AtomicUsize = AtomicUsize::new(0);

/// The pool between two restarts.
pub(crate) struct Generation(usize);

impl Generation {
    /// The one that the pool is in now, or has just ended.
    pub(crate) fn current() -> Self {
        // Ordering: Acquire pairs with `restart`.
        Self(RESTARTS.load(Ordering::Acquire))
    }

    /// Waits until the pool has been restarted.
    pub(crate) fn wait_for_next(self) {
        // Ordering: as above.
        while RESTARTS.load(Ordering::Acquire) == self.0 {
            spin_loop();
        }
    }
}

/// Ends the pool, waits until all workers have left, and lets it begin again.
pub(crate) fn restart<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    pool.end();
    while pool.restart().is_err() {
        spin_loop();
    }
    // Ordering: Release pairs with `Generation`: whoever sees it finds the pool restarted.
    RESTARTS.fetch_add(1, Ordering::Release);
}
