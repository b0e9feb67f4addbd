//! What the frames of a thread keep from ending: pools, and the worker that the thread is.

use std::{cell::Cell, ptr, sync::Arc};

use pool_core::Platform as _;

use super::{Current, add_reference_to_current};
use crate::{
    platform::{Registry, Std, WorkerThread},
    worker::frames,
};

#[cfg(test)]
mod tests;

thread_local! {
    static KEPT: Kept = const {
        Kept {
            frames: Cell::new(0),
            pool: Cell::new(ptr::null()),
        }
    };
}

/// What the frames of a thread keep from ending.
struct Kept {
    /// The number of frames that keep the thread's own pool.
    frames: Cell<usize>,
    /// The pool to which the innermost [guard](PoolGuard) of a worker has added a reference.
    pool: Cell<*const Registry>,
}

/// Whether a frame of this thread keeps from ending the pool whose worker the thread is.
pub(crate) fn keeps_own_pool() -> bool {
    KEPT.with(|kept| kept.frames.get() > 0)
}

/// Calls a closure in a frame that counts as one that keeps this thread's own pool from ending. So
/// the closure cannot end the worker that the thread is. It does not unwind.
pub(crate) fn keeping_own_pool<R>(closure: impl FnOnce() -> R) -> R {
    KEPT.with(Kept::begin);
    let result = closure();
    KEPT.with(Kept::end);
    result
}

/// Forgets, in a child of the process, the frames that keep a pool of the parent.
pub(crate) fn forget_frames() {
    KEPT.with(|kept| {
        kept.frames.set(0);
        kept.pool.set(ptr::null());
    });
}

impl Kept {
    /// Counts one more frame that keeps the thread's own pool.
    fn begin(&self) {
        self.frames.set(self.frames.get() + 1);
    }

    /// Counts one frame less. In a child of the process, the frames that were begun before it are
    /// not counted.
    fn end(&self) {
        self.frames.set(self.frames.get().saturating_sub(1));
    }
}

/// Keeps a pool from ending while it is held. The guards of a thread are dropped in the reverse
/// order.
pub(crate) struct PoolGuard {
    /// The pointer of an `Arc`.
    registry: *const Registry,
    by: KeptBy,
}

/// What keeps the pool of a guard from ending, and its registry in place.
enum KeptBy {
    /// An earlier guard of this thread, which is a worker of the pool.
    Earlier,
    /// A reference of this thread, which is a worker of the pool. The field is what its guards have
    /// kept before.
    Worker(*const Registry),
    /// A reference of any thread.
    Other(Arc<Registry>),
}

impl PoolGuard {
    /// Guards the pool whose worker this thread is, or lends, or else the global pool. An adopted
    /// thread and an exit handler may be workers of a pool that has ended; they get the global
    /// pool, too.
    #[inline]
    pub(crate) fn current() -> Self {
        Self::in_earlier().unwrap_or_else(Self::with_reference)
    }

    /// Guards the pool that an earlier guard of this thread keeps, if it is the thread's own. All
    /// workers write the number of references, so this writes none: scopes may be nested, and
    /// begin often.
    #[inline]
    fn in_earlier() -> Option<Self> {
        // SAFETY: 1. the reference is used at once.
        let registry = unsafe { WorkerThread::current() }?.registry_pointer();
        KEPT.with(|kept| {
            (kept.pool.get() == registry).then(|| {
                kept.begin();
                let by = KeptBy::Earlier;
                Self { registry, by }
            })
        })
    }

    fn with_reference() -> Self {
        add_reference_to_current(|current| match current {
            Current::Own(worker) => KEPT.with(|kept| {
                kept.begin();
                let registry = worker.registry_pointer();
                let by = KeptBy::Worker(kept.pool.replace(registry));
                Self { registry, by }
            }),
            Current::Lent(registry) => Self::other(registry),
            Current::Global(registry) => Self::other(registry.clone()),
        })
    }

    fn other(registry: Arc<Registry>) -> Self {
        Self {
            registry: Arc::as_ptr(&registry),
            by: KeptBy::Other(registry),
        }
    }

    /// Returns the pool.
    pub(crate) fn registry(&self) -> &Registry {
        // SAFETY: this has an `Arc`, or the thread stays the worker while its frames keep the pool,
        // and a worker keeps its registry in place.
        unsafe { &*self.registry }
    }

    /// Returns the pool for longer than the guard keeps it.
    pub(crate) fn to_arc(&self) -> Arc<Registry> {
        // SAFETY: 1. it is in place, as above; 2. it is the pointer of an `Arc`.
        unsafe { Std::keep_alive(self.registry) }
    }

    /// Calls a closure of the user on this thread, which must not wait meanwhile until the pool is
    /// idle, or has ended. The thread may have taken the global pool out.
    pub(crate) fn while_held<R>(self, closure: impl FnOnce(&Registry) -> R) -> R {
        let registry = self.registry();
        match self.by {
            KeptBy::Earlier | KeptBy::Worker(_) => closure(registry),
            KeptBy::Other(_) => frames::while_visiting(registry, || closure(registry)),
        }
    }
}

impl Drop for PoolGuard {
    fn drop(&mut self) {
        if let KeptBy::Other(registry) = &self.by {
            return registry.remove_reference();
        }
        KEPT.with(|kept| {
            kept.end();
            if let KeptBy::Worker(before) = self.by {
                // Not in a child of the process that has forgotten it.
                if kept.pool.get() == self.registry {
                    kept.pool.set(before);
                }
                self.registry().remove_reference_of_job();
            }
        });
    }
}
