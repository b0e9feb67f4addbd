//! What debug assertions know of a worker's search.

use crate::index::WorkerIndex;

/// Whether a worker is in a search: between `start_looking` and `work_found`. Empty without debug
/// assertions, and in models, which count states.
///
/// Without it, if a worker dropped its idle state, or two threads acted as one worker, counts would
/// only grow, and posters would rely on searchers that do not exist.
pub(crate) struct SearchMark {
    /// The real atomic, also in simulations, because the mark is no part of a protocol.
    #[cfg(all(debug_assertions, not(loom)))]
    is_set: core::sync::atomic::AtomicBool,
}

impl SearchMark {
    /// Creates the mark of a worker that does not search.
    pub(crate) const fn new() -> Self {
        Self {
            #[cfg(all(debug_assertions, not(loom)))]
            is_set: core::sync::atomic::AtomicBool::new(false),
        }
    }

    /// Notes that the worker begins a search.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn begin(&self, worker: WorkerIndex) {
        debug_assert_ne!(
            self.set(true),
            Some(true),
            "worker {} begins a search in the middle of another: its idle state was dropped, not given to \
             `work_found`, or two threads are this worker",
            worker.get(),
        );
    }

    /// Notes that the worker goes on with its search.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn go_on(&self, worker: WorkerIndex) {
        debug_assert_ne!(
            self.set(true),
            Some(false),
            "worker {} has begun no search here: its idle state is of another pool",
            worker.get(),
        );
    }

    /// Notes that the worker ends its search.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn end(&self, worker: WorkerIndex) {
        debug_assert_ne!(
            self.set(false),
            Some(false),
            "worker {} ends a search that it has not begun here: its idle state is of another pool",
            worker.get(),
        );
    }

    /// Notes that a guest gives the worker back, which is in its search again.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn give_back(&self, worker: WorkerIndex) {
        debug_assert_ne!(
            self.set(true),
            Some(true),
            "worker {} is given back, but no guest has it, or the guest is in the middle of a search",
            worker.get(),
        );
    }

    /// Takes the worker out of its search for a guest, which does not search yet.
    #[inline(always)]
    pub(crate) fn lend(&self) {
        if cfg!(debug_assertions) {
            self.set(false);
        }
    }

    /// Changes the mark and returns the old one, if there is one.
    fn set(&self, is_set: bool) -> Option<bool> {
        #[cfg(all(debug_assertions, not(loom)))]
        {
            use core::sync::atomic::Ordering::Relaxed;
            // Ordering: Relaxed. Only the thread that is the worker changes the mark, and what
            // hands the worker over orders the changes. This is not an exchange, because some cores
            // have none.
            let was_set = self.is_set.load(Relaxed);
            self.is_set.store(is_set, Relaxed);
            Some(was_set)
        }
        #[cfg(not(all(debug_assertions, not(loom))))]
        {
            let _ = is_set;
            None
        }
    }
}
