//! The pool as rustc names it.

use std::sync::Arc;

use pool_std::facade::PoolHandle;

/// Names a pool. Does not keep it running.
#[allow(missing_debug_implementations, reason = "the original has none")]
pub struct Registry {
    #[allow(dead_code, reason = "what marks workers needs it")]
    handle: PoolHandle,
}

impl Registry {
    /// Returns the pool that this thread is a worker of, or the global pool.
    pub fn current() -> Arc<Registry> {
        let handle = PoolHandle::current();
        Arc::new(Self { handle })
    }
}
