//! Detects that the workers of a pool wait for each other forever.
//!
//! A pool tells its [`DeadlockDetection`] which workers run and which sleep. With
//! [`NoDeadlockDetection`] all of that is compiled away. With the feature `deadlock`, the
//! accounting of `sleep-core` can detect deadlocks; its documentation argues that no report is
//! false and none is missed.
//!
//! | event | where the pool reports it |
//! | --- | --- |
//! | a worker arrives, leaves | `WorkerThread::enter`, `WorkerThread::leave` |
//! | a worker sleeps, wakes up | `worker/idle.rs`: in the last look, and after the sleep |
//! | a worker that sleeps is going to be woken by its latch | `Registry::wake_waiter` |
//! | a worker waits for an event from outside | nothing: it stays active |
//! | a worker is lent, and its thread does something outside the pool | `WorkerThread::lend` |
//! | a guest takes a worker's place, and gives it back | `guest.rs` |
//! | a worker blocks | `WorkerThread::mark_blocked`, by the pool's user |

#[cfg(feature = "deadlock")]
mod accounting;
#[cfg(all(test, feature = "deadlock"))]
mod tests;

use sleep_core::{CoreLatch, WorkerIndex};

use crate::{platform::Platform, registry::Registry, unwind::no_unwind, worker::WorkerThread};

/// Receives which workers of a pool run and which sleep.
///
/// By default all functions do nothing. No function may panic.
///
/// # Examples
/// One that only counts how often workers sleep:
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
///
/// use pool_core::{CoreLatch, DeadlockDetection, WorkerIndex};
///
/// #[derive(Default)]
/// struct Sleeps(AtomicUsize);
///
/// impl DeadlockDetection for Sleeps {
///     fn fall_asleep(
///         &self,
///         _worker: WorkerIndex,
///         _latch: &CoreLatch,
///         _may_run: impl Fn(WorkerIndex) -> bool,
///     ) {
///         self.0.fetch_add(1, Relaxed);
///     }
/// }
///
/// let (sleeps, worker) = (Sleeps::default(), WorkerIndex::new(0, 1)?);
/// sleeps.fall_asleep(worker, &CoreLatch::new(), |_| false);
/// assert_eq!(sleeps.0.into_inner(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait DeadlockDetection: Send + Sync {
    /// Whether the value was created for this number of workers.
    fn is_for(&self, workers: usize) -> bool {
        let _ = workers;
        true
    }

    /// Notes that a worker has arrived.
    #[inline]
    fn arrive(&self, worker: WorkerIndex) {
        let _ = worker;
    }

    /// Notes that a worker leaves. `may_run` says whether there is work that a sleeping worker may
    /// run.
    #[inline]
    fn leave(&self, worker: WorkerIndex, may_run: impl Fn(WorkerIndex) -> bool) {
        let _ = (worker, may_run);
    }

    /// Notes that a worker is about to park until there is work or the latch is set.
    #[inline]
    fn fall_asleep(
        &self,
        worker: WorkerIndex,
        latch: &CoreLatch,
        may_run: impl Fn(WorkerIndex) -> bool,
    ) {
        let _ = (worker, latch, may_run);
    }

    /// Notes that a worker has returned from its sleep.
    #[inline]
    fn wake_up(&self, worker: WorkerIndex) {
        let _ = worker;
    }

    /// Notes that a thread outside the pool begins something whose end jobs may wait for. Until it
    /// ends, no deadlock is reported.
    #[inline]
    fn begin_outside(&self) {}

    /// Notes the end of what [`begin_outside`](Self::begin_outside) has counted.
    #[inline]
    fn end_outside(&self, may_run: impl Fn(WorkerIndex) -> bool) {
        let _ = may_run;
    }

    /// Notes that the caller has set the latch of a worker that sleeps, and is about to wake the
    /// worker. May be called from an interrupt.
    #[inline]
    fn will_wake(&self, worker: WorkerIndex) {
        let _ = worker;
    }

    /// Whether a thread has called [`will_wake`](Self::will_wake) since the worker last fell
    /// asleep. A guest that leaves asks this after a sequentially consistent fence, and wakes the
    /// worker's own thread then. So `will_wake` executes such a fence after it has noted the call:
    /// either the caller finds the worker's slot open, or the guest sees the note.
    #[inline]
    fn is_waking(&self, worker: WorkerIndex) -> bool {
        let _ = worker;
        false
    }
}

/// Detects nothing, and is compiled away.
///
/// # Examples
/// See [`Platform`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDeadlockDetection;

impl DeadlockDetection for NoDeadlockDetection {}

impl<P: Platform> Registry<P> {
    /// Notes that a worker has left. Also called for a worker that was counted in advance, but
    /// whose thread was never started.
    pub fn mark_absent(&self, worker: WorkerIndex) {
        no_unwind(|| self.deadlock().leave(worker, |worker| self.may_run(worker)));
    }

    /// Notes that what [`DeadlockDetection::begin_outside`] has counted has ended.
    pub(crate) fn end_outside(&self) {
        no_unwind(|| self.deadlock().end_outside(|worker| self.may_run(worker)));
    }

    /// Wakes a worker that slept when the caller set its latch.
    #[inline]
    pub(crate) fn wake_waiter(&self, worker: WorkerIndex) {
        // First, or the caller could block before the worker counts as awake.
        no_unwind(|| self.deadlock().will_wake(worker));
        self.wake_worker(worker);
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Notes that this worker is about to park. Called within the last look at all sources.
    #[inline]
    pub(crate) fn note_sleep(&self, latch: &CoreLatch) {
        let registry = self.registry();
        let detection = registry.deadlock();
        detection.fall_asleep(self.index(), latch, |worker| registry.may_run(worker));
    }

    /// Notes that this worker has arrived, and waits until its thread may run.
    pub(crate) fn note_arrival(&self) {
        no_unwind(|| {
            self.registry().deadlock().arrive(self.index());
            P::acquire_thread(self.registry());
        });
    }
}
