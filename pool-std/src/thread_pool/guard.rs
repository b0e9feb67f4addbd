//! What keeps a pool from ending.

use std::{cell::Cell, marker::PhantomData, sync::Arc};

use pool_core::Platform;

use super::global::global;
use crate::{
    platform::{Registry, Std, WorkerThread},
    worker::lender,
};

thread_local! {
    /// The number of frames of this thread that keep its own pool from ending.
    static KEEPING_OWN_POOL: Cell<usize> = const { Cell::new(0) };
}

/// Whether a frame of this thread keeps from ending the pool whose worker the thread is.
pub(crate) fn keeps_own_pool() -> bool {
    KEEPING_OWN_POOL.get() > 0
}

/// Calls a closure in a frame that counts as one that keeps this thread's own pool from ending. So
/// the closure cannot end the worker that the thread is. It does not unwind.
pub(crate) fn keeping_own_pool<R>(closure: impl FnOnce() -> R) -> R {
    KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() + 1);
    let result = closure();
    KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() - 1);
    result
}

/// Keeps a pool from ending while it is held.
pub(crate) struct PoolGuard {
    registry: Arc<Registry>,
    /// This thread was a worker of the pool, and counts the guard in `KEEPING_OWN_POOL`.
    is_own: bool,
    /// The guard is dropped on the thread that counts it.
    not_send: PhantomData<*const ()>,
}

impl PoolGuard {
    /// Guards the pool whose worker this thread is, or lends, or else the global pool. An adopted
    /// thread and an exit handler may be workers of a pool that has ended; they get the global
    /// pool, too.
    pub(crate) fn current() -> Self {
        // SAFETY: 1. the reference is used at once.
        match unsafe { WorkerThread::current() } {
            Some(worker) if worker.registry().try_add_reference() => {
                // SAFETY: 1. the worker keeps its registry alive; 2. the worker was made with this
                // pointer.
                let registry = unsafe { Std::keep_alive(worker.registry_pointer()) };
                KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() + 1);
                Self {
                    registry,
                    is_own: true,
                    not_send: PhantomData,
                }
            }
            None => match lender::pool().filter(|registry| registry.try_add_reference()) {
                Some(registry) => Self::counted(registry),
                None => Self::of(global()),
            },
            Some(_) => Self::of(global()),
        }
    }

    /// Guards this pool, which the caller keeps from ending during the call.
    pub(crate) fn of(registry: &Arc<Registry>) -> Self {
        registry.add_reference();
        Self::counted(registry.clone())
    }

    /// Guards this pool by a reference that the caller has added.
    fn counted(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            is_own: false,
            not_send: PhantomData,
        }
    }

    /// Returns the pool.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

impl Drop for PoolGuard {
    fn drop(&mut self) {
        if self.is_own {
            KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() - 1);
        }
        self.registry.remove_reference();
    }
}

/// Adds a reference for a job to the pool that [`PoolGuard::current`] would guard, and calls a
/// closure with that pool. The registry lives until the call returns, also if the job ends before.
///
/// Cheaper than a guard: it writes one count, and not three.
pub(crate) fn with_job_reference<R>(closure: impl FnOnce(&Registry) -> R) -> R {
    // SAFETY: 1. the reference is used in this call alone, during which the thread stays the
    // worker.
    match unsafe { WorkerThread::current() } {
        Some(worker) if worker.registry().try_add_reference() => return closure(worker.registry()),
        None => {
            if let Some(registry) = lender::pool().filter(|registry| registry.try_add_reference()) {
                return closure(&registry);
            }
        }
        Some(_) => {}
    }
    let registry = global();
    registry.add_reference();
    closure(registry)
}
