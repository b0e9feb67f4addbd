//! The restart of the pool, for which the other cores wait.

use core::hint::spin_loop;

use portable_atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::{Pool, board::Board};

/// The number of times that the pool has been restarted.
static RESTARTS: AtomicUsize = AtomicUsize::new(0);

/// Whether the pool has ended permanently.
static IS_FINISHED: AtomicBool = AtomicBool::new(false);

/// The life of the pool between two restarts.
pub(crate) struct Generation(usize);

impl Generation {
    /// Returns the generation that the pool is in, or that has just ended.
    pub(crate) fn current() -> Self {
        // Ordering: Acquire pairs with `restart`.
        Self(RESTARTS.load(Ordering::Acquire))
    }

    /// Waits until the pool has been restarted, or has ended permanently. Returns whether there is
    /// a next generation.
    pub(crate) fn wait_for_next(self) -> bool {
        // Ordering: as above.
        while RESTARTS.load(Ordering::Acquire) == self.0 {
            // Ordering: Acquire pairs with `finish`.
            if IS_FINISHED.load(Ordering::Acquire) {
                return false;
            }
            spin_loop();
        }
        true
    }
}

/// Ends the pool, waits until all workers have left, and restarts it.
pub(crate) fn restart<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    pool.end();
    while pool.restart().is_err() {
        spin_loop();
    }
    // Ordering: Release pairs with `Generation`: a core that sees the count finds the pool
    // restarted.
    RESTARTS.fetch_add(1, Ordering::Release);
}

/// Ends the pool permanently.
pub(crate) fn finish<B: Board, const CORES: usize>(pool: &'static Pool<B, CORES>) {
    pool.end();
    // Ordering: Release pairs with `Generation`.
    IS_FINISHED.store(true, Ordering::Release);
}
