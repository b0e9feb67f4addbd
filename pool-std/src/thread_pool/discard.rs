//! The jobs that a pool discards when it is to end at once.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::{panics::Panic, platform::Registry};

/// Whether a pool discards the spawned jobs that have not begun, and how many it has discarded.
///
/// A job stays in its queue until a worker takes it, which then drops it instead of running it. So
/// no queue needs to be emptied by another thread, and the job's reference to the pool is removed
/// by the thread that would have removed it anyway.
#[derive(Default)]
pub(crate) struct Discard {
    is_on: AtomicBool,
    discarded: AtomicUsize,
}

impl Discard {
    /// Makes workers discard the jobs that they take from now on.
    pub(super) fn begin(&self) {
        // Ordering: Relaxed. A worker that does not see it yet begins one job more.
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Whether jobs are discarded.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        // Ordering: Relaxed, see `begin`.
        self.is_on.load(Ordering::Relaxed)
    }

    /// Returns how many jobs were discarded.
    pub(super) fn count(&self) -> usize {
        // Ordering: Relaxed, a plain count. A caller that has waited for the end of the pool has
        // acquired what its workers did.
        self.discarded.load(Ordering::Relaxed)
    }

    /// Calls a closure that drops a job of this pool, and counts the job if the closure returns
    /// true. A panic of the closure goes to the pool's handler, and the job counts, too.
    #[cold]
    pub(crate) fn drop_job(registry: &Registry, drop_job: impl FnOnce() -> bool) {
        Self::end(registry, catch_unwind(AssertUnwindSafe(drop_job)));
    }

    fn end(registry: &Registry, dropped: Result<bool, Panic>) {
        let data = registry.data();
        let was_dropped = *dropped.as_ref().unwrap_or(&true);
        let result = dropped.map(|_| ());
        data.handlers
            .handle_panic("the drop of a discarded job", result);
        // Ordering: Relaxed, a plain count.
        let _ = (data.discard.discarded).fetch_add(usize::from(was_dropped), Ordering::Relaxed);
    }
}
