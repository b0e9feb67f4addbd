//! A handle that names a pool.

use std::{fmt, sync::Arc};

use crate::{
    blocking::{error::MarkError, handlers::is_in_handler},
    fork,
    platform::Registry,
    thread_pool::{
        current::current_registry,
        end::{check_here, wait_until_stopped, waits_for_itself},
        error::ShutdownError,
        id::PoolId,
    },
    worker::current_worker_of,
};

/// Names a pool without keeping it running. Two handles are equal if they name the same pool.
///
/// This is for crates that build their own kinds of pools on this one, with per-worker state, marks
/// of blocked workers, and scopes that a pool must not outlive. A handle cannot spawn jobs; for
/// that, share the [`ThreadPool`](crate::ThreadPool) in an `Arc`.
///
/// # Examples
/// ```
/// use pool_std::PoolHandle;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let handle = pool.handle();
/// assert_eq!(pool.install(PoolHandle::current), handle);
/// assert_eq!(handle.num_threads(), 2);
///
/// drop(pool);
/// handle.wait_until_stopped()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PoolHandle {
    registry: Arc<Registry>,
}

impl PoolHandle {
    pub(crate) fn of(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
    }

    /// Returns the pool whose worker this thread is, or [lends](crate::block_in_place()), or else
    /// the global pool.
    #[must_use]
    pub fn current() -> Self {
        Self {
            registry: current_registry(),
        }
    }

    /// Returns the number of workers.
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.registry.num_workers()
    }

    /// Whether the pool has spare threads, so that two threads can be the same worker in turn.
    ///
    /// # Examples
    /// ```
    /// let builder = pool_std::ThreadPoolBuilder::new().num_threads(1);
    /// let pool = builder.max_blocking_threads(1).build()?;
    /// assert!(pool.handle().has_spare_threads());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn has_spare_threads(&self) -> bool {
        self.registry.data().spares.maximum() > 0
    }

    /// Unmarks a number of blocked workers without their tickets, as rustc's pool does. If fewer
    /// are blocked, unmarks none.
    ///
    /// # Errors
    /// [`MarkError::NotBlocked`] if fewer workers are blocked; [`MarkError::InHandler`] if a
    /// handler of a pool calls this.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let handle = pool.handle();
    /// pool.install(|| {
    ///     let _ticket = pool_std::mark_blocked("an answer").expect("on a worker");
    ///     // Another thread would do so, before it sends an answer to any of the jobs that wait.
    ///     handle.mark_any_unblocked(1)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark_any_unblocked(&self, count: usize) -> Result<(), MarkError> {
        if is_in_handler() {
            return Err(MarkError::InHandler);
        }
        if !fork::is_own_process(&self.registry) {
            return Err(MarkError::NotBlocked);
        }
        let result = self.registry.deadlock().mark_any_unblocked(count);
        result.map_err(|_| MarkError::NotBlocked)
    }

    /// Returns the number of the worker that this thread is. Returns `None` on any other thread,
    /// and on a guest. So no two threads get the same number, unless the pool has [spare
    /// threads](Self::has_spare_threads).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let handle = pool.handle();
    /// assert_eq!(handle.current_own_index(), None, "outside the pool");
    /// assert!(pool.install(|| handle.current_own_index()).is_some_and(|index| index < 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn current_own_index(&self) -> Option<usize> {
        let worker = current_worker_of(&self.registry)?;
        (!worker.is_guest()).then(|| worker.index().get())
    }

    /// Whether this thread is a guest of the pool: it has taken the place of a worker's own thread,
    /// which sleeps.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let handle = pool.handle();
    /// assert!(!handle.is_guest(), "outside the pool");
    /// assert!(!pool.install(|| handle.is_guest()), "on a worker's own thread");
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn is_guest(&self) -> bool {
        current_worker_of(&self.registry).is_some_and(|worker| worker.is_guest())
    }

    /// Waits until the workers' threads have exited, as
    /// [`ThreadPool::shutdown`](crate::ThreadPool::shutdown) does. This does not end the pool: the
    /// threads exit when the pool is dropped or shut down.
    ///
    /// If a pool with [lazy threads](crate::ThreadPoolBuilder::lazy_threads) was not used, it has
    /// no threads, and this returns at once.
    ///
    /// # Errors
    /// [`ShutdownError::FromWorker`] and [`ShutdownError::Forked`] as there.
    pub fn wait_until_stopped(&self) -> Result<(), ShutdownError> {
        check_here(&self.registry)?;
        if waits_for_itself(&self.registry) {
            return Err(ShutdownError::FromWorker);
        }
        let parts = self.registry.data();
        // An owner that has given the pool up has ended it, or a thread that uses it still will.
        if parts.lazy.are_pending() && !parts.idle.is_disowned() && parts.threads.are_none() {
            return Ok(());
        }
        wait_until_stopped(&self.registry)
    }
}

impl PartialEq for PoolHandle {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registry, &other.registry)
    }
}

impl Eq for PoolHandle {}

/// Prints what [`ThreadPool::id`](crate::ThreadPool::id) prints.
impl fmt::Debug for PoolHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        PoolId::of(&self.registry).fmt(f)
    }
}
