//! Running one job of the pool in the middle of another.

use crate::{platform::WorkerThread, seeded::point_if_seeded};

/// The result of [`yield_now`] and [`yield_local`].
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// pool.install(|| match pool_std::yield_now() {
///     Some(pool_std::Yield::Executed) => println!("another job was run here"),
///     Some(pool_std::Yield::Idle) => println!("there was none"),
///     None => unreachable!("this is a worker"),
/// });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was no job.
    Idle,
}

/// Runs one job of the current pool: from this worker's deque, stolen from another worker, or from
/// the pool's queues.
///
/// Returns None if this thread is not a worker.
///
/// The job may be any job of the pool, even in a call from outside and in
/// [`isolate`](crate::isolate), because a thread that yields asks for a job, unlike a thread that
/// waits. So the thread must not hold a lock that such a job may need. In such calls, the waits of
/// the job are isolated, whatever the job does.
///
/// # Examples
/// A worker that polls can help its pool meanwhile:
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use pool_std::ThreadPoolBuilder;
///
/// static IS_DONE: AtomicBool = AtomicBool::new(false);
/// let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     pool_std::spawn(|| IS_DONE.store(true, Ordering::Release));
///     while !IS_DONE.load(Ordering::Acquire) {
///         pool_std::yield_now();
///     }
/// });
/// assert_eq!(pool_std::yield_now(), None);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn yield_now() -> Option<Yield> {
    yield_with(WorkerThread::yield_now)
}

/// Runs one job from this worker's own deque, or one that only this worker may run.
///
/// Returns None if this thread is not a worker. The note on locks at [`yield_now`] applies here,
/// too.
///
/// # Examples
/// ```
/// assert_eq!(pool_std::yield_local(), None, "outside every pool");
/// ```
pub fn yield_local() -> Option<Yield> {
    yield_with(WorkerThread::yield_local)
}

fn yield_with(run_one: impl FnOnce(&WorkerThread) -> bool) -> Option<Yield> {
    // SAFETY: 1. the reference is used at once.
    let worker = unsafe { WorkerThread::current() }?;
    if run_one(worker) {
        return Some(Yield::Executed);
    }
    // What the caller waits for may be up to another worker.
    point_if_seeded(worker);
    Some(Yield::Idle)
}
