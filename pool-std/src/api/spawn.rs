//! Jobs that no caller waits for.

use crate::{
    thread_pool::guard::PoolGuard,
    worker::job::{NO_NODE, counted_job, current_worker_of, post_or_inject},
};

/// Runs a closure on the current pool at some time, without waiting for it.
///
/// On a worker the job is queued with that worker's own, newest first; to have them run in their
/// order use [`spawn_fifo`]. A pool that is dropped runs what was spawned on it first.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler); without one it
/// aborts the process.
///
/// # Examples
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool_std::spawn(move || sender.send(42).unwrap());
/// assert_eq!(receiver.recv(), Ok(42));
/// ```
pub fn spawn<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_on(PoolGuard::current(), job);
}

/// Spawns a job as [`spawn`] does, but the jobs that one worker spawns this way start in that order.
pub fn spawn_fifo<F>(job: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn_fifo_on(PoolGuard::current(), job);
}

pub(crate) fn spawn_on(pool: PoolGuard, job: impl FnOnce() + Send + 'static) {
    let job = counted_job(pool.registry().clone(), job);
    // SAFETY: 1. the reference is used for this alone.
    unsafe { post_or_inject(&pool.into_registry(), job) };
}

pub(crate) fn spawn_fifo_on(pool: PoolGuard, job: impl FnOnce() + Send + 'static) {
    let job = counted_job(pool.registry().clone(), job);
    let registry = pool.into_registry();
    match current_worker_of(&registry) {
        // SAFETY: `push`: 1. the queue needs no node; 2. the FIFO is part of the registry, which
        // each job of it holds. `post`: 1. the stand-in is used for this alone.
        Some(worker) => unsafe { worker.post(worker.fifo().push(NO_NODE, job)) },
        // SAFETY: 1. the queue needs no node. The injector is in order by itself.
        None => unsafe { registry.inject(NO_NODE, job) },
    }
}
