//! Whether threads outside a pool run closures as its guests.

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::thread_pool::crowd::short_calls::in_call;
use crate::{
    api::CurrentPool,
    blocking::handlers::is_in_handler,
    platform::{Registry, WorkerThread},
};

/// Whether threads outside a pool run closures as its guests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Guests {
    /// Workers vacate their seats when they sleep.
    pub(crate) are_possible: bool,
    /// What the builder was told. Otherwise the function that is called decides.
    chosen: Option<bool>,
}

impl Guests {
    /// Returns the choice of a pool. Without `are_possible` there are no guests at all.
    pub(crate) fn new(are_possible: bool, chosen: Option<bool>) -> Self {
        Self {
            are_possible: are_possible && chosen != Some(false),
            chosen,
        }
    }

    /// Whether a function that was called so makes the calling thread a guest. A handler is none:
    /// as a worker it would run other jobs, which may wait for the thread that is in the
    /// handler.
    pub(crate) fn are_for(self, current: CurrentPool) -> bool {
        self.are_possible
            && !is_in_handler()
            && self
                .chosen
                .unwrap_or_else(|| current.has_guests_by_default())
    }
}

/// Runs a closure on a worker of a pool. A thread outside every pool runs it as a guest, if it can.
#[inline]
pub(crate) fn call<R: Send>(
    registry: &Registry,
    closure: impl FnOnce(&WorkerThread, bool) -> R + Send,
) -> R {
    registry.call(|worker, migrated| in_call(worker, || closure(worker, migrated)))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn in_call<R>(_worker: &WorkerThread, closure: impl FnOnce() -> R) -> R {
    closure()
}
