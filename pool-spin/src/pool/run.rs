//! How a core becomes a worker, and leaves.

use pool_core::{UnknownWorker, WorkerThread};

use super::{
    SpinPool,
    error::{ReleaseError, RunError},
    platform::run,
    system::System,
    worker::Worker,
};
use crate::machine::{CoreLocal as _, Machine};

/// The reason why a worker returned from [`SpinPool::run_worker`].
///
/// # Examples
/// ```
/// use pool_spin::{Cores, ExitReason, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 1, 16>> = SpinPool::new();
///
/// assert_eq!(POOL.run_worker_until(0, || true), Ok(ExitReason::Done));
/// POOL.end();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "Left")]
pub enum ExitReason {
    /// The pool has ended.
    Ended,
    /// The worker was [released](SpinPool::release_worker); the pool continues.
    Released,
    /// The condition of [`SpinPool::run_worker_until`] is true.
    Done,
}

impl<S: System> SpinPool<S> {
    /// Makes this core worker number `index` until the pool [ends](Self::end) or the worker is
    /// [released](Self::release_worker). Returns which of the two happened.
    ///
    /// A released worker leaves the jobs on its deque to other workers, unless one of these may
    /// wait for the jobs in isolation: see [`Scope::spawn`](crate::Scope::spawn). The worker may
    /// arrive again, on this core or another one. A worker that arrives after the end returns at
    /// once.
    ///
    /// # Errors
    /// [`RunError`] if there is no such worker, if another core is this worker, or if this core is
    /// a worker already.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, ExitReason, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// std::thread::scope(|threads| {
    ///     for index in 0..2 {
    ///         threads.spawn(move || assert_eq!(POOL.run_worker(index), Ok(ExitReason::Ended)));
    ///     }
    ///     assert_eq!(POOL.install(|core| core.join(|_| 1, |_| 2)), (1, 2));
    ///     POOL.end();
    /// });
    /// ```
    pub fn run_worker(&'static self, index: usize) -> Result<ExitReason, RunError> {
        self.run_worker_until(index, || false)
    }

    /// Makes this core a worker as [`run_worker`](Self::run_worker) does, but returns as soon as a
    /// condition is true: for the main loop of a core that sleeps until there is something to do.
    ///
    /// The worker checks the condition when it arrives, and each time that
    /// [`wake_worker`](Self::wake_worker) is called for it.
    ///
    /// # Errors
    /// Those of [`run_worker`](Self::run_worker).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// static TICKED: AtomicBool = AtomicBool::new(false);
    ///
    /// // In an interrupt handler.
    /// fn tick() {
    ///     TICKED.store(true, Ordering::Release);
    ///     let _ = POOL.wake_worker(0);
    /// }
    /// # tick();
    ///
    /// // On core 0: runs jobs, or sleeps, until the next tick.
    /// POOL.run_worker_until(0, || TICKED.swap(false, Ordering::Acquire))?;
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn run_worker_until(
        &'static self,
        index: usize,
        mut condition: impl FnMut() -> bool,
    ) -> Result<ExitReason, RunError> {
        let reason = self.as_worker(index, |worker| {
            loop {
                // The latch may have been set long ago, or before the last restart.
                if !worker.reset_stop() {
                    while worker.yield_now() {}
                    return ExitReason::Ended;
                }
                if self.registry.data().gates.as_ref()[index].is_released() {
                    return ExitReason::Released;
                }
                if condition() {
                    return ExitReason::Done;
                }
                // SAFETY: 1. The pools of this crate have no guests.
                unsafe { worker.run_until_stopped() };
            }
        });
        match reason {
            Err(RunError::Ended) => Ok(ExitReason::Ended),
            reason => reason,
        }
    }

    /// Makes this core worker number `index` while a closure runs: for the core that boots, and for
    /// cores that take part from time to time.
    ///
    /// The closure should join, or open scopes. Jobs that it spawns are run by other workers, or by
    /// this one when it next waits for something.
    ///
    /// The number must be free: this does not take the place of a sleeping core, as a guest of
    /// `pool-std` takes that of a sleeping thread. A sleeping core could run the closure itself,
    /// and a calling core has its own number.
    ///
    /// # Errors
    /// Those of [`run_worker`](Self::run_worker), and [`RunError::Ended`] if the pool has ended.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// let (a, b) = POOL.run_with(0, |core| core.join(|_| 1, |_| 2))?;
    /// assert_eq!(a + b, 3);
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn run_with<R>(
        &'static self,
        index: usize,
        closure: impl FnOnce(Worker<'_, S>) -> R,
    ) -> Result<R, RunError> {
        let reference = self.try_hold().ok_or(RunError::Ended)?;
        self.as_worker(index, |worker| {
            let _reference = reference;
            closure(Worker(worker))
        })
    }

    fn as_worker<R>(
        &'static self,
        index: usize,
        body: impl FnOnce(&WorkerThread<S>) -> R,
    ) -> Result<R, RunError> {
        if !<S::Machine as Machine>::Local::get().is_null() {
            return Err(RunError::AlreadyWorker);
        }
        let place = self.registry.worker(index);
        let place = place.map_err(RunError::UnknownWorker)?;
        let data = self.registry.data();
        // A worker may arrive even after the end, as long as there are jobs to run.
        if !data.lifecycle.join(self.registry.has_references()) {
            return Err(RunError::Ended);
        }
        // SAFETY: 1. The registry is in a static, which outlives the worker. 2. Nothing is needed
        // to keep a static alive.
        let Some(worker) = (unsafe { WorkerThread::new(&raw const self.registry, place) }) else {
            data.lifecycle.leave();
            return Err(RunError::Taken);
        };
        // No panic leaves this frame while the core's pointer leads to the worker.
        let result = run(|| {
            // SAFETY: 1. The worker stays in this frame until it leaves.
            unsafe { worker.enter() };
            data.gates.as_ref()[index].open();
            let result = body(&worker);
            data.gates.as_ref()[index].close();
            worker.run_inbox_jobs();
            // Another worker may wait for these jobs, and may not take any from here.
            worker.run_owed_jobs();
            worker.notify_leftovers();
            worker.leave();
            result
        });
        drop(worker);
        data.lifecycle.leave();
        Ok(result)
    }

    /// Asks a worker to return from [`run_worker`](Self::run_worker), for instance before its core
    /// is switched off. The worker returns after the job that it is running.
    ///
    /// A worker in [`run_with`](Self::run_with) leaves when that returns anyway. The request is for
    /// the worker that is there now, not for one that arrives later.
    ///
    /// # Errors
    /// [`ReleaseError`] if there is no such worker, or if no core is this worker now.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, ExitReason, ReleaseError, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// assert_eq!(POOL.release_worker(1), Err(ReleaseError::Absent));
    /// std::thread::scope(|threads| {
    ///     let worker = threads.spawn(|| POOL.run_worker(1));
    ///     while POOL.release_worker(1).is_err() {} // until it has arrived
    ///     assert_eq!(worker.join().unwrap(), Ok(ExitReason::Released));
    /// });
    /// ```
    pub fn release_worker(&'static self, index: usize) -> Result<(), ReleaseError> {
        let worker = self.registry.worker(index);
        let worker = worker.map_err(ReleaseError::UnknownWorker)?;
        if !self.registry.data().gates.as_ref()[index].release() {
            return Err(ReleaseError::Absent);
        }
        self.registry.request_stop(worker);
        Ok(())
    }

    /// Makes a worker check the condition of its [`run_worker_until`](Self::run_worker_until), now
    /// or when it arrives. The worker sees everything that was written before the call.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there is no such worker.
    ///
    /// # Examples
    /// See [`run_worker_until`](Self::run_worker_until).
    pub fn wake_worker(&'static self, index: usize) -> Result<(), UnknownWorker> {
        self.registry.request_stop(self.registry.worker(index)?);
        Ok(())
    }
}
