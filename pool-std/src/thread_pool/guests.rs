//! Whether threads outside a pool run closures as its guests.

#[cfg(any(target_os = "linux", target_os = "android"))]
use crate::thread_pool::crowd::short_calls::in_call;
use crate::{
    blocking::handlers::is_in_handler,
    platform::{Registry, WorkerThread},
};

/// Whether threads outside a pool run closures as its guests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Guests {
    /// Workers vacate their seats when they sleep.
    pub(crate) are_possible: bool,
    /// The free functions of this crate are guests, when they are called outside every pool.
    for_own: bool,
    /// So are those that a facade re-exports.
    for_facade: bool,
}

/// From which crate a free function was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// From this one.
    Own,
    /// From a facade in `compat`, whose programs expect closures on threads of the pool.
    Facade,
}

impl Guests {
    /// Returns the choice of a pool. Without `are_possible` there are no guests at all.
    pub(crate) fn new(are_possible: bool, for_own: bool, for_facade: bool) -> Self {
        Self {
            are_possible: are_possible && (for_own || for_facade),
            for_own,
            for_facade,
        }
    }

    /// Whether a function that was called so makes the calling thread a guest. A handler is none: as a worker it
    /// would run other jobs, which may wait for the thread that is in the handler.
    pub(crate) fn are_for(self, caller: Caller) -> bool {
        self.are_possible
            && !is_in_handler()
            && match caller {
                Caller::Own => self.for_own,
                Caller::Facade => self.for_facade,
            }
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
