//! Jobs that no caller waits for.

use crate::{
    thread_pool::guard::PoolGuard,
    worker::job::{NO_NODE, counted_job, current_worker_of, post_or_inject},
};

/// Spawns a job on the current pool, without waiting for it.
///
/// A worker queues the job on its own deque, and runs the newest job of the deque first;
/// [`spawn_fifo`] keeps the order. A pool that is dropped runs what was spawned before it ends.
///
/// A panic goes to the pool's [handler](crate::ThreadPoolBuilder::panic_handler); without a handler
/// it aborts the process.
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
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool.install(|| {
///     for number in 0..3 {
///         let sender = sender.clone();
///         pool_std::spawn_fifo(move || sender.send(number).unwrap());
///     }
/// });
/// drop(sender);
/// assert!(receiver.iter().eq(0..3));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
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
