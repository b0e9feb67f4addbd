//! A pool of worker threads, as its owner sees it.

// rustdoc shows the methods of a type in the order of the modules. What is used first comes first.
pub(crate) mod call;
mod jobs;
mod spawn_handle;

pub(crate) mod active;
pub(crate) mod builder;
pub(crate) mod crowd;
pub(crate) mod current;
pub(crate) mod discard;
mod end;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod follow;
pub(crate) mod global;
pub(crate) mod handle;
pub(crate) mod handlers;
pub(crate) mod id;
pub(crate) mod idle;
pub(crate) mod lazy;
pub(crate) mod parts;
#[cfg(feature = "pinning")]
pub(crate) mod pins;
#[cfg(all(unix, any(feature = "live", feature = "signal")))]
pub(crate) mod pools;
mod processors;
mod properties;
#[cfg(all(unix, feature = "signal"))]
mod signal;
pub(crate) mod spares;
pub(crate) mod stack;
pub(crate) mod threads;
pub(crate) mod waits;

use std::{fmt, sync::Arc};

use crate::{
    api::yielding::Yield,
    fork,
    platform::Registry,
    progress::Progress,
    thread_pool::{
        error::{ActiveWorkersError, BuildError},
        handle::PoolHandle,
        id::PoolId,
        lazy::LazyThreads,
    },
    worker::current_worker_of,
};

/// A pool of worker threads.
///
/// Created by [`ThreadPoolBuilder`](crate::ThreadPoolBuilder). A dropped pool finishes all spawned
/// jobs and ends, but the drop does not wait for that. If the process returns from `main` in the
/// meantime, the workers are terminated, and jobs are lost. [`shutdown`](Self::shutdown),
/// [`shutdown_timeout`](Self::shutdown_timeout) and [`wait_idle`](Self::wait_idle) wait. When
/// [`shutdown_timeout`](Self::shutdown_timeout) or [`shutdown_now`](Self::shutdown_now) has ended a
/// pool that is shared, methods that run or spawn anything panic, but for those that return a
/// [`JoinHandle`](crate::JoinHandle), whose job they abort.
///
/// If the process forks, the child has none of the pool's threads. On Linux, Android and Apple's
/// systems, methods that would need them panic there, or return an error, and the free functions
/// use the child's own global pool.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let sum: u32 = pool.install(|| {
///     let (a, b) = pool_std::join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum, 3);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub struct ThreadPool {
    registry: Arc<Registry>,
}

impl ThreadPool {
    fn new(registry: Arc<Registry>) -> Self {
        registry.data().threads.add_waiter();
        Self { registry }
    }

    /// Returns the pool's thread progress, for reading data without locks, in jobs and outside the
    /// pool, while other threads replace and free it. See the module [`progress`](crate::progress);
    /// for the global pool there is [`Progress::current`].
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let progress = pool.progress();
    /// let later = progress.later();
    /// progress.wait_for(later);
    /// assert!(progress.has_reached(later));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::of(self.registry.clone())
    }

    /// Starts the threads of a pool with [lazy threads](crate::ThreadPoolBuilder::lazy_threads), if
    /// they have not been started. In a [deadlock
    /// handler](crate::ThreadPoolBuilder::deadlock_handler) of the pool, it starts none.
    ///
    /// # Errors
    /// Returns [`BuildError::Spawn`] if the system refuses a thread. The threads started before it
    /// run; the next call, or the next use of the pool, tries to start the others.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().lazy_threads().build()?;
    /// pool.start_threads()?;
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn start_threads(&self) -> Result<(), BuildError> {
        if self.registry.data().lazy.are_pending() && fork::is_own_process(&self.registry) {
            LazyThreads::start(&self.registry)?;
        }
        Ok(())
    }

    /// Returns an identifier that distinguishes this pool from others in debug output.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// println!("built pool {:?}", pool.id());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> impl fmt::Debug {
        PoolId::of(&self.registry)
    }

    /// Returns a handle that names this pool without keeping it running.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let handle = pool.handle();
    /// assert_eq!(handle.num_threads(), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn handle(&self) -> PoolHandle {
        PoolHandle::of(&self.registry)
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Sets the number of active workers, and returns the previous number. The other workers are
    /// parked: their threads sleep, run no jobs, and use no processor time.
    ///
    /// Use it if the number of processors that a program may use changes at run time: under a GNU
    /// make jobserver, in a container with a new limit, or next to a second pool.
    ///
    /// The workers with numbers from 0 to `count - 1` are active. Other workers park when they have
    /// finished their current job; until then, they also run other jobs while that job waits. The
    /// call does not wait for this. Before a worker parks, it runs the jobs that it has queued and
    /// that the active workers have not taken. The jobs that these spawn go to the active workers.
    /// Any thread or job may call this, even a job on a worker that the call parks. If several
    /// threads call this at the same time, the last call wins.
    ///
    /// What does not change:
    /// - [`current_num_threads`](Self::current_num_threads) is the maximum with which the pool was
    ///   built, and a worker keeps its [number](Self::current_thread_index).
    /// - A [broadcast](Self::broadcast) runs on every worker. It revives parked workers for its
    ///   jobs only. So per-worker state can be set up and collected regardless of the number of
    ///   active workers.
    /// - Start and exit handlers are called once per thread.
    /// - The thread of [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) is
    ///   worker 0, and is never parked.
    ///
    /// The [metrics](Self::metrics) show a parked worker as absent. A pool that [follows the
    /// processors](crate::ThreadPoolBuilder::follow_processors) stops doing so.
    ///
    /// # Complexity
    /// Linear in the number of workers that park or are revived. Takes a lock.
    ///
    /// # Errors
    /// Returns an [`ActiveWorkersError`] and changes nothing if `count` is 0 or above the number of
    /// workers, if the caller is a deadlock handler or an acquire or release handler, or in a child
    /// of the process that built the pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(4).build()?;
    /// assert_eq!(pool.set_active_workers(1)?, 4);
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2, 3]);
    ///
    /// assert_eq!(pool.set_active_workers(4)?, 1);
    /// assert!(pool.set_active_workers(5).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_active_workers(&self, count: usize) -> Result<usize, ActiveWorkersError> {
        if !fork::is_own_process(&self.registry) {
            return Err(ActiveWorkersError::Forked);
        }
        let before = self.registry.data().active.set(&self.registry, count)?;
        if self.registry.data().follower.end() {
            // It may have set another number in between, and does so no more.
            self.registry.data().active.set(&self.registry, count)?;
        }
        Ok(before)
    }

    /// Returns the number of [active](Self::set_active_workers) workers, as last requested. Workers
    /// that will park may still be running their last jobs.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.set_active_workers(1)?;
    /// assert_eq!(pool.active_workers(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn active_workers(&self) -> usize {
        self.registry.data().active.count()
    }

    /// Whether this thread's deque holds jobs that no worker has started. Returns None if this
    /// thread is not one of the pool's workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None, "outside the pool");
    /// assert_eq!(pool.install(|| pool.current_thread_has_pending_tasks()), Some(false));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        current_worker_of(&self.registry).map(|worker| worker.has_pending_jobs())
    }

    /// Runs one job of this pool, as [`yield_now`](crate::yield_now()) does. Returns None if this
    /// thread is not one of the pool's workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.yield_now(), None, "outside the pool");
    /// pool.install(|| while pool.yield_now() == Some(pool_std::Yield::Executed) {});
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        current_worker_of(&self.registry)?;
        crate::api::yielding::yield_now()
    }

    /// Runs one job from this worker's own deque. Returns None if this thread is not one of the
    /// pool's workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.install(|| assert_eq!(pool.yield_local(), Some(pool_std::Yield::Idle)));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        current_worker_of(&self.registry)?;
        crate::api::yielding::yield_local()
    }
}
