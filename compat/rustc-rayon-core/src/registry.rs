//! The pool as rustc names it, and its workers that are blocked.

use std::sync::Arc;

use pool_std::{MarkError, PoolHandle};

/// Names a pool, for [`mark_unblocked`]. Does not keep it running.
#[allow(missing_debug_implementations, reason = "the original has none")]
pub struct Registry {
    handle: PoolHandle,
}

impl Registry {
    /// Returns the pool that this thread is a worker of, or the global pool. May be called in a
    /// deadlock handler.
    pub fn current() -> Arc<Registry> {
        let handle = PoolHandle::current();
        Arc::new(Self { handle })
    }
}

/// Marks this worker as blocked: it is about to wait for what another thread does, such as another
/// worker with a query. If this completes a deadlock, the pool's
/// [handler](crate::ThreadPoolBuilder::deadlock_handler) is called here.
///
/// Calls neither the acquire nor the release handler. A program that has a token of a jobserver
/// gives it back itself, after this call.
///
/// # Panics
/// If this thread is not a worker, if it is marked already, and in a handler.
pub fn mark_blocked() {
    match pool_std::mark_blocked("mark_blocked") {
        Ok(_) => {}
        Err(error) => refuse("mark_blocked", &error),
    }
}

/// Marks one of the blocked workers of a pool as unblocked. The thread that resumes the worker
/// calls this right before it does so.
///
/// # Panics
/// If more workers were to be unblocked than are blocked, and in a handler.
pub fn mark_unblocked(registry: &Registry) {
    if let Err(error) = registry.handle.mark_any_unblocked(1) {
        refuse("mark_unblocked", &error);
    }
}

#[cold]
fn refuse(function: &str, error: &MarkError) -> ! {
    panic!("rayon_core::{function}: {error}")
}
