//! Whether a pool runs: how many cores are its workers, and whether it has ended.

use crate::primitive::{AtomicUsize, Ordering};

/// No core becomes a worker any more.
const ENDED: usize = 1;
/// One core is a worker; the rest of the word counts them.
const WORKER: usize = 2;

/// Whether a pool runs, in one word.
pub(crate) struct Life(AtomicUsize);

impl Life {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// A core becomes a worker. False if the pool has ended, unless that is no matter.
    pub(crate) fn join(&self, also_after_the_end: bool) -> bool {
        // Ordering: Acquire pairs with `begin_again`. Relaxed on failure: nothing happens.
        let may_join = |word| also_after_the_end || word & ENDED == 0;
        let update = |word| may_join(word).then_some(word + WORKER);
        self.0
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, update)
            .is_ok()
    }

    /// A worker has left.
    pub(crate) fn leave(&self) {
        // Ordering: Release pairs with `may_begin_again`.
        self.0.fetch_sub(WORKER, Ordering::Release);
    }

    /// Ends the pool. True for the one who does.
    pub(crate) fn end(&self) -> bool {
        // Ordering: Relaxed, it picks one; what orders the end is the registry's count.
        self.0.fetch_or(ENDED, Ordering::Relaxed) & ENDED == 0
    }

    /// The pool has ended, all workers have left, and the caller alone may begin it again; false
    /// otherwise.
    pub(crate) fn may_begin_again(&self) -> bool {
        // Whoever begins it again counts as a worker until it has.
        //
        // Ordering: Acquire pairs with `leave`; the count is read-modify-writes, so all are seen.
        // Relaxed on failure: nothing happens.
        self.0
            .compare_exchange(ENDED, ENDED | WORKER, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Cores may become workers again.
    pub(crate) fn begin_again(&self) {
        // Others may have come meanwhile for the jobs that were left: so no store.
        //
        // Ordering: Release pairs with `join`.
        self.0.fetch_sub(ENDED | WORKER, Ordering::Release);
    }
}
