//! A pool of worker threads, as its owner sees it.

pub(crate) mod builder;
pub(crate) mod data;
mod environment;
pub(crate) mod error;
pub(crate) mod global;
pub(crate) mod guard;
pub(crate) mod id;

use std::{fmt, sync::Arc};

use crate::{
    api::{
        broadcast::{self, BroadcastContext},
        scope::{self, Scope, ScopeFifo},
        spawn,
        yielding::Yield,
    },
    clock::WorkerTimes,
    fence::ProcessBarrier,
    platform::{Registry, WorkerThread},
    progress::Progress,
    thread_pool::{
        error::ShutdownError,
        guard::{PoolGuard, keeps_own_pool},
        id::PoolId,
    },
    worker::{adopted, job::current_worker_of},
};

/// A pool of worker threads.
///
/// Made by [`ThreadPoolBuilder`](crate::ThreadPoolBuilder). Dropping it lets the workers finish
/// what was spawned, and end; it does not wait for them. [`shutdown`](Self::shutdown) does.
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
    /// Runs a closure on one of the workers and waits for it. `join`, `scope` and the like inside
    /// it use this pool.
    ///
    /// A worker of another pool goes on with that pool's work while it waits.
    ///
    /// # Panics
    /// Continues the closure's panic.
    pub fn install<F, R>(&self, closure: F) -> R
    where
        F: FnOnce() -> R + Send,
        R: Send,
    {
        self.registry.in_worker(|_, _| closure())
    }

    /// Returns the pool's thread progress: to read without locks, in jobs and outside the pool, what
    /// other threads replace and free. See the module [`progress`](crate::progress).
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::of(&self.registry)
    }

    /// What tells this pool from others in debug output.
    #[must_use]
    pub fn id(&self) -> impl fmt::Debug {
        PoolId::of(&self.registry)
    }

    pub(crate) fn in_worker<R: Send>(&self, closure: impl FnOnce(&WorkerThread) -> R + Send) -> R {
        self.registry.in_worker(|worker, _| closure(worker))
    }

    /// [`join`](crate::join()) on this pool.
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.registry
            .in_worker(|worker, migrated| worker.join_context(|_| a(), |_| b(), migrated))
    }

    /// [`scope`](crate::scope()) on this pool.
    pub fn scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope(body))
    }

    /// [`scope_fifo`](crate::scope_fifo) on this pool.
    pub fn scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| scope::scope_fifo(body))
    }

    /// [`in_place_scope`](crate::in_place_scope) whose jobs run on this pool.
    pub fn in_place_scope<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_on(&self.registry, body)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) whose jobs run on this pool.
    pub fn in_place_scope_fifo<'scope, F, R>(&self, body: F) -> R
    where
        F: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_on(&self.registry, body)
    }

    /// [`spawn`](crate::spawn()) on this pool.
    pub fn spawn<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        spawn::spawn_on(PoolGuard::of(&self.registry), job);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) on this pool.
    pub fn spawn_fifo<F>(&self, job: F)
    where
        F: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_on(PoolGuard::of(&self.registry), job);
    }

    /// [`broadcast`](crate::broadcast()) on this pool.
    pub fn broadcast<F, R>(&self, job: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_on(&self.registry, job)
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) on this pool.
    pub fn spawn_broadcast<F>(&self, job: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_on(&self.registry, job);
    }

    /// The number of workers.
    #[must_use]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_workers()
    }

    /// The number of the worker that this thread is in this pool. None if it is not one.
    #[must_use]
    pub fn current_thread_index(&self) -> Option<usize> {
        current_worker_of(&self.registry).map(|worker| worker.index().get())
    }

    /// Whether this thread is a worker of this pool that has jobs queued which nobody has begun.
    /// None if it is not a worker of it.
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        current_worker_of(&self.registry).map(|worker| worker.has_pending_jobs())
    }

    /// Runs one job from anywhere in this pool. None if this thread is not a worker of it.
    pub fn yield_now(&self) -> Option<Yield> {
        current_worker_of(&self.registry)?;
        crate::api::yielding::yield_now()
    }

    /// Runs one job of this worker's own. None if this thread is not a worker of this pool.
    pub fn yield_local(&self) -> Option<Yield> {
        current_worker_of(&self.registry)?;
        crate::api::yielding::yield_local()
    }

    /// How long each worker was active, idle and asleep. None unless the pool was built with
    /// [`measure_time`](crate::ThreadPoolBuilder::measure_time).
    #[must_use]
    pub fn worker_times(&self) -> Option<Vec<WorkerTimes>> {
        let workers = (0..self.registry.num_workers())
            .map(|index| self.registry.worker(index).expect("counted"));
        workers
            .map(|worker| self.registry.parker(worker).clock())
            .map(|clock| clock.map(|clock| clock.times()))
            .collect()
    }

    /// Lets the workers finish what was spawned, and waits until their threads have ended.
    ///
    /// A thread that is a worker by
    /// [`use_current_thread`](crate::ThreadPoolBuilder::use_current_thread) runs jobs meanwhile, and so does
    /// a worker of another pool.
    ///
    /// # Errors
    /// [`ShutdownError::FromWorker`] on a thread of the pool's own, and in a job or a scope of the
    /// pool on an adopted one: it would wait for itself. The pool ends nevertheless, when its work is
    /// done.
    pub fn shutdown(self) -> Result<(), ShutdownError> {
        let registry = self.registry.clone();
        drop(self);
        if let Some(worker) = current_worker_of(&registry) {
            let waits_for_itself = worker.is_running_job() || keeps_own_pool();
            if waits_for_itself || !adopted::is_adopted_by(&registry) {
                return Err(ShutdownError::FromWorker);
            }
            worker.run_until_terminated();
        }
        registry.data().wait_until_stopped();
        Ok(())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.remove_reference();
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool")
            .field("num_threads", &self.current_num_threads())
            .field("id", &self.id())
            .field("fences", &ProcessBarrier::description())
            .finish()
    }
}
