//! The latch of a worker.

use core::{fmt, marker::PhantomData};

use sleep_core::CoreLatch;

use super::Latch;
use crate::{
    platform::Platform,
    worker::{Awaited, WorkerThread},
};

/// A latch on which a worker waits. Meanwhile, the worker searches for other work, and sleeps when
/// there is none.
///
/// It cannot outlive its worker:
/// ```compile_fail,E0515
/// use pool_core::{Platform, SpinLatch, WorkerThread};
///
/// fn leave_behind<P: Platform>(worker: WorkerThread<P>) -> SpinLatch<'static, P> {
///     SpinLatch::cross(&worker)
/// }
/// ```
pub struct SpinLatch<'w, P: Platform> {
    core: CoreLatch,
    /// Other threads read only what never changes. A pointer, since the waiter may be gone when
    /// `set` returns.
    pub(super) waiter: *const WorkerThread<P>,
    /// Whether the setter may belong to another pool. Then nothing but the setter's call keeps the
    /// waiter's pool alive.
    pub(super) cross: bool,
    /// The waiter outlives the latch.
    lifetime: PhantomData<&'w WorkerThread<P>>,
}

impl<P: Platform> fmt::Debug for SpinLatch<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpinLatch")
            .field("core", &self.core)
            .field("cross", &self.cross)
            .finish_non_exhaustive()
    }
}

// SAFETY: of the waiter, other threads read its registry and its number, which never change; the
// registry is made for sharing, as the bounds of `Platform` demand; the rest is shared atomics or
// never changes.
unsafe impl<P: Platform> Sync for SpinLatch<'_, P> {}
// SAFETY: as above; a latch that is moved has no setter yet, or none any more.
unsafe impl<P: Platform> Send for SpinLatch<'_, P> {}

impl<'w, P: Platform> SpinLatch<'w, P> {
    /// Creates a latch for a job that runs on the waiter's own pool.
    #[inline]
    pub fn new(waiter: &'w WorkerThread<P>) -> Self {
        Self {
            core: CoreLatch::new(),
            waiter,
            cross: false,
            lifetime: PhantomData,
        }
    }

    /// Creates a latch for a job that runs anywhere.
    pub fn cross(waiter: &'w WorkerThread<P>) -> Self {
        Self {
            cross: true,
            ..Self::new(waiter)
        }
    }

    /// Returns the part that the waiter probes.
    #[inline]
    pub fn core(&self) -> &CoreLatch {
        &self.core
    }

    /// Runs other jobs until the latch is set, on the worker that the latch was made for.
    pub(super) fn wait(&self, waiter: &WorkerThread<P>, awaited: Awaited) {
        if self.cross {
            waiter.wait_for_outside(&self.core);
        } else {
            waiter.wait_for(awaited, &self.core);
        }
    }
}

impl<P: Platform> Latch for SpinLatch<'_, P> {
    type Platform = P;

    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1), and what the waiter waits for has happened
        // (obligation 2). The latch stays alive until `CoreLatch::set`, and so does its waiter, and
        // all that is needed after it is copied before: by its lifetime it outlives the
        // latch. The registry lives on: the setter keeps it alive (obligation 3), or
        // `keep_alive` holds it, which we call while the waiter cannot leave yet.
        unsafe {
            let (registry, worker) = WorkerThread::address((*this).waiter);
            let _held = (*this).cross.then(|| P::keep_alive(registry));
            (*registry).set_latch(&raw const (*this).core, worker);
        }
    }
}
