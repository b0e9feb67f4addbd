//! Calls in which waiting workers do not run unrelated jobs.

use pool_core::Isolation;

use crate::{
    api::CurrentPool,
    platform::{Registry, WorkerThread},
    thread_pool::current::in_worker,
    worker::current_worker_of,
};

/// Runs a closure in the current pool, and isolates its waits.
///
/// A worker that waits in the closure, for a half of a join or for the jobs of a scope, runs only
/// descendants of the jobs that it waits for.
///
/// Use it around a parallel call if the caller holds something that other jobs of the pool need: a
/// lock, a borrow of a `RefCell`, a token, or a thread-local variable with the state of a job.
/// Otherwise the worker may start such a job on top of the frame that holds it, and wait for
/// itself.
///
/// The jobs of the closure are isolated, too, whichever workers run them: those of its joins,
/// scopes and broadcasts, and those that it spawns with a handle. Jobs that it spawns in a scope
/// opened earlier are as isolated as that scope. A worker that is between jobs may take any of
/// them, so the closure uses the whole pool. The cost is that a waiting worker that finds no such
/// descendant does not help other calls.
///
/// A job that is [spawned](crate::spawn()) in the closure, and that no scope waits for, is run by a
/// worker that is between jobs. A closure that waits for such a job in another way, for example on
/// a channel, needs a second worker. The page [Which way to wait](crate::guide::waiting) lists
/// programs that can hang.
///
/// A thread outside every pool is a [guest](crate::ThreadPoolBuilder::guests) of the global pool,
/// as in [`scope`](crate::scope()).
///
/// In a [breadth-first](crate::ThreadPoolBuilder::breadth_first) pool the call isolates nothing,
/// because its workers cannot skip older jobs.
///
/// # Panics
/// Resumes the panic of the closure.
///
/// # Examples
/// Each job holds a lock across a join, and all need the same lock:
/// ```
/// use std::sync::Mutex;
///
/// let sum = Mutex::new(0);
/// pool_std::scope(|scope| {
///     for number in 1..=10 {
///         let sum = &sum;
///         scope.spawn(move |_| {
///             let mut sum = sum.lock().unwrap();
///             let (half, rest) = pool_std::isolate(|| {
///                 pool_std::join(|| number / 2, || number - number / 2)
///             });
///             *sum += half + rest;
///         });
///     }
/// });
/// assert_eq!(sum.into_inner().unwrap(), 55);
/// ```
///
/// Source: oneTBB's `this_task_arena::isolate`; rayon's issue 592.
#[doc(alias = "this_task_arena")]
pub fn isolate<F, R>(closure: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    with_isolation(Isolation::Subtree, closure)
}

/// Runs a closure as [`isolate`] does, with a choice of what a worker may run while it waits.
///
/// With [`Isolation::Nothing`], a worker that calls [`install`](crate::ThreadPool::install) on
/// another pool runs no job of its own pool until that call returns.
///
/// # Panics
/// Resumes the panic of the closure.
///
/// # Examples
/// ```
/// use pool_std::{Isolation, ThreadPoolBuilder};
///
/// let other = ThreadPoolBuilder::new().num_threads(1).build()?;
/// let answer = pool_std::with_isolation(Isolation::Nothing, || other.install(|| 42));
/// assert_eq!(answer, 42);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn with_isolation<F, R>(isolation: Isolation, closure: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    in_worker(CurrentPool::OWN, |worker, _| {
        worker.isolate(isolation, closure)
    })
}

/// What a detached job may run while it waits: no more than the job that spawned it, because that
/// job may wait for the handle of the detached one while it holds a lock.
#[derive(Clone, Copy)]
pub(crate) struct Inherited(Isolation);

impl Inherited {
    /// Returns what a job on this pool inherits from the one that this thread runs.
    #[inline]
    pub(crate) fn by_job_of(registry: &Registry) -> Self {
        let spawner = current_worker_of(registry).filter(|worker| worker.is_isolated());
        Self(spawner.map_or(Isolation::Anything, WorkerThread::isolation))
    }

    /// Calls a closure of the job.
    #[inline]
    pub(crate) fn run<R>(self, closure: impl FnOnce() -> R) -> R {
        if self.0 == Isolation::Anything {
            return closure();
        }
        // SAFETY: 1. the thread stays the worker until the closure returns.
        match unsafe { WorkerThread::current() } {
            Some(worker) => worker.isolate(self.0, closure),
            None => closure(),
        }
    }
}
