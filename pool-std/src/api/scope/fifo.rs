//! Scopes whose jobs start in order.

use std::fmt;

use pool_core::{JobFifo, ScopeCore};

use super::{ScopeBase, spawn_broadcast_in};
use crate::{
    api::{
        broadcast::BroadcastContext,
        current_pool::CurrentPool,
        scope_job::{AnyScope, scope_job},
        spawn::NO_NODE,
    },
    platform::{Queue, Registry, Std},
    thread_pool::current::PoolGuard,
};

/// A [`Scope`](crate::Scope) whose jobs start in the order in which they were spawned. Created by
/// [`scope_fifo`].
///
/// # Examples
/// ```
/// let mut halves = [1, 2];
/// pool_std::scope_fifo(|scope: &pool_std::ScopeFifo<'_>| {
///     for half in &mut halves {
///         scope.spawn_fifo(move |_| *half *= 10);
///     }
/// });
/// assert_eq!(halves, [10, 20]);
/// ```
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
    /// One per worker, because the order holds among the jobs that one worker spawns.
    fifos: Vec<JobFifo<Std>>,
}

/// Runs a scope as [`scope()`](crate::scope()) does, but the jobs that one worker spawns start in
/// that order.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.scope_fifo(|scope| {
///     for number in 0..3 {
///         let sender = sender.clone();
///         scope.spawn_fifo(move |_| sender.send(number).unwrap());
///     }
/// });
/// drop(sender);
/// assert!(receiver.iter().eq(0..3));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    CurrentPool::OWN.scope_fifo(body)
}

/// Runs a scope as [`scope_fifo`] does, but runs the body on this thread, so that it need not be
/// `Send`.
///
/// # Examples
/// ```
/// let mut results = Vec::new();
/// pool_std::in_place_scope_fifo(|scope| {
///     // It runs on this thread, so that it may borrow what is not `Send`.
///     scope.spawn_fifo(|_| results.push(1));
/// });
/// assert_eq!(results, [1]);
/// ```
pub fn in_place_scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R,
{
    PoolGuard::current().while_held(|registry| in_place_scope_fifo_on(registry, body))
}

pub(crate) fn in_place_scope_fifo_on<'scope, R>(
    registry: &Registry,
    body: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    // SAFETY: 1. the scope ends before this call does, and the caller lends us the registry for it.
    let (owner, base) = unsafe { ScopeBase::new(registry) };
    let fifos = (0..registry.num_workers()).map(|_| JobFifo::new(Queue::new()));
    let scope = ScopeFifo {
        base,
        fifos: fifos.collect(),
    };
    scope.base.complete(owner, || body(&scope))
}

impl AnyScope for ScopeFifo<'_> {
    fn core(&self) -> &ScopeCore<'_, Std> {
        &self.base.core
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// Spawns a job, which is given the scope so that it may spawn more.
    ///
    /// # Examples
    /// ```
    /// let mut order = std::sync::Mutex::new(Vec::new());
    /// let one = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// one.scope_fifo(|scope| {
    ///     for number in 0..3 {
    ///         let order = &order;
    ///         scope.spawn_fifo(move |_| order.lock().unwrap().push(number));
    ///     }
    /// });
    /// assert_eq!(*order.get_mut().unwrap(), [0, 1, 2]);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_fifo<F>(&self, body: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        let worker = self.base.worker_that_posts();
        // SAFETY: 1. it is queued below; 2. `'scope` outlives the scope.
        let job = unsafe { scope_job(self, worker, body) };
        match worker {
            // SAFETY: `push`: 1. the queue needs no node; 2. the scope waits for the job, and a
            // stand-in has been run when its job begins. `post`: 1. the stand-in is used for this
            // alone.
            Some(worker) => unsafe {
                let fifo = &self.fifos[worker.index().get()];
                worker.post(fifo.push(NO_NODE, job));
            },
            // SAFETY: 1. the reference is used for this alone. Both queues that the job may go to
            // are in order by themselves.
            None => unsafe { self.base.inject(job) },
        }
    }

    /// Spawns a job on each worker of the pool.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let runs = AtomicUsize::new(0);
    /// pool.scope_fifo(|scope| {
    ///     scope.spawn_broadcast(|_, _| _ = runs.fetch_add(1, Ordering::Relaxed));
    /// });
    /// assert_eq!(runs.into_inner(), 2);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: 1. `'scope` outlives the scope.
        unsafe { spawn_broadcast_in(self, self.base.registry, body) };
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("ScopeFifo");
        self.base
            .debug(output.field("num_fifos", &self.fifos.len()))
    }
}
