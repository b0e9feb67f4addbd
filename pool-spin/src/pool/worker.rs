//! What a job does on its worker: join, yield, schedule.

use core::fmt;

use pool_core::{Isolation, WorkerThread, progress::IntoOperation};

use super::system::System;

/// The worker that a closure runs on: a core of a pool.
///
/// Every job is called with its worker. It can be copied, but not sent to another core.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, System, Worker, host::Host};
///
/// /// The largest number, found on all cores of any pool.
/// fn max<S: System>(core: Worker<S>, numbers: &[u32]) -> u32 {
///     match numbers {
///         [] => 0,
///         [number] => *number,
///         _ => {
///             let (left, right) = numbers.split_at(numbers.len() / 2);
///             let (a, b) = core.join(|core| max(core, left), |core| max(core, right));
///             a.max(b)
///         }
///     }
/// }
///
/// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
/// assert_eq!(POOL.run_with(0, |core| max(core, &[3, 1, 4, 1, 5])), Ok(5));
/// ```
#[doc(alias = "WorkerThread")]
pub struct Worker<'w, S: System>(pub(crate) &'w WorkerThread<S>);

impl<S: System> Worker<'_, S> {
    /// Returns the worker's number, counted from 0.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// assert_eq!(POOL.run_with(1, |core| core.index()), Ok(1));
    /// ```
    #[doc(alias = "current_thread_index")]
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index().get()
    }

    /// Runs both closures, potentially at the same time on two cores, and returns both results.
    ///
    /// Each closure is called with the worker that it runs on. If this worker's deque is full, this
    /// worker runs them one after the other.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// let (a, b) = POOL.run_with(0, |core| core.join(|_| 6 * 7, |core| core.index()))?;
    /// assert_eq!((a, b), (42, 0)); // no other worker has arrived
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Worker<'_, S>) -> RA,
        B: FnOnce(Worker<'_, S>) -> RB + Send,
        RB: Send,
    {
        self.0.join_context(
            |by| a(Worker(by.worker())),
            |by| b(Worker(by.worker())),
            false,
        )
    }

    /// Runs a closure in which a waiting worker runs only jobs that the [`Isolation`] allows, so
    /// that the closure may hold what other jobs need, such as a lock. This holds for the jobs of
    /// the closure, too, on whichever cores they run.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, Isolation, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// let sum = POOL.run_with(0, |core| {
    ///     core.isolate(Isolation::Subtree, || core.join(|_| 1, |_| 2))
    /// })?;
    /// assert_eq!(sum, (1, 2));
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn isolate<R>(self, isolation: Isolation, closure: impl FnOnce() -> R) -> R {
        self.0.isolate(isolation, closure)
    }

    /// Runs one job from anywhere in the pool. Returns whether there was one.
    ///
    /// Intended for a job that has to wait for something that the pool does not know about.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// POOL.run_with(0, |core| {
    ///     core.spawn(|_| println!("hello"));
    ///     assert!(core.yield_now());
    ///     assert!(!core.yield_now());
    /// })?;
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn yield_now(self) -> bool {
        self.0.yield_now()
    }

    /// Schedules an operation to run when every [delay](super::SpinPool::delay) that is held now
    /// has been dropped: for instance, to free memory that other cores can no longer find.
    ///
    /// This worker runs the operation when it next searches for work. If it leaves before, another
    /// worker does, or one after the pool's [restart](super::SpinPool::restart) if the pool ends
    /// first. If all sleep by then, the end of the last delay wakes a worker.
    ///
    /// Any job may call this, and so may an operation. An operation may wait, for instance in a
    /// [`join`](Self::join); the worker runs other jobs and operations meanwhile. It may run when
    /// the pool has ended, on a worker that is about to leave. Others call this `call_rcu` (RCU) or
    /// `defer` (crossbeam-epoch).
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host, progress::Operation};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// POOL.run_with(0, |core| {
    ///     let operation = Operation::new(|| println!("no core reads the old table any more"));
    ///     core.schedule(Box::leak(Box::new(operation)));
    ///     while core.yield_now() {}
    /// })?;
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn schedule(self, operation: impl IntoOperation) {
        self.0.schedule(operation);
    }
}

impl<S: System> Clone for Worker<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: System> Copy for Worker<'_, S> {}

impl<S: System> fmt::Debug for Worker<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.index()).finish()
    }
}
