//! A handle to the worker that a closure runs on.

pub(crate) mod adopted;
pub(crate) mod frames;
pub(crate) mod local;
pub(crate) mod spawn;
pub(crate) mod thread;

use std::{fmt, mem::ManuallyDrop, ptr};

use pool_core::{JobContext, Platform as _};

use crate::{
    api::CurrentPool,
    job_context::follow_half,
    platform::{Registry, Std, WorkerThread},
    thread_pool::{ThreadPool, current::in_worker},
};

/// The worker that a closure runs on.
///
/// Created by [`with_worker`] and [`ThreadPool::install_with`]. It gives access to state that
/// belongs to one worker, such as the entry of an array at [`index`](Self::index). It also proves
/// that the caller runs on a worker, so [`join`](Self::join) never has to enter a pool.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use pool_std::Worker;
///
/// /// Counts the leaves of a tree, without two workers writing to the same counter.
/// fn count(worker: Worker<'_>, depth: u32, counters: &[AtomicU64]) {
///     if depth == 0 {
///         counters[worker.index()].fetch_add(1, Ordering::Relaxed);
///     } else {
///         worker.join(
///             |worker| count(worker, depth - 1, counters),
///             |worker| count(worker, depth - 1, counters),
///         );
///     }
/// }
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let counters = [const { AtomicU64::new(0) }; 2];
/// pool.install_with(|worker| count(worker, 10, &counters));
/// assert_eq!(counters.map(AtomicU64::into_inner).iter().sum::<u64>(), 1024);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
///
/// A worker stays on its thread:
/// ```compile_fail,E0277
/// pool_std::with_worker(|worker| {
///     std::thread::scope(|threads| {
///         threads.spawn(|| worker.index());
///     });
/// });
/// ```
#[derive(Clone, Copy)]
pub struct Worker<'w> {
    thread: &'w WorkerThread,
}

impl Worker<'_> {
    /// Returns the number of the worker in its pool.
    #[must_use]
    pub fn index(self) -> usize {
        self.thread.index().get()
    }

    /// Runs two closures as [`join`](crate::join()) does, and passes to each the worker that it
    /// runs on.
    ///
    /// # Panics
    /// - Resumes the panic of `a`, or else that of `b`, when both have ended.
    /// - If the calling thread is currently not the worker, as in a closure of
    ///   [`block_in_place`](crate::block_in_place()). Safe code can bring the handle there only in
    ///   a wrapper that is `Send` for every type.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Worker<'_>) -> RA + Send,
        B: FnOnce(Worker<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let b = follow_half(|by: JobContext<'_, Std>| {
            b(Worker {
                thread: by.worker(),
            })
        });
        let a = |by: JobContext<'_, Std>| {
            a(Worker {
                thread: by.worker(),
            })
        };
        join_on(self.thread, ManuallyDrop::new(a), ManuallyDrop::new(b))
    }
}

/// Joins closures that the caller has written to its frame and does not use afterwards.
// Not inlined, for the reason that `WorkerThread::join_context` has.
#[inline(never)]
fn join_on<A, B, RA, RB>(
    worker: &WorkerThread,
    mut a: ManuallyDrop<A>,
    mut b: ManuallyDrop<B>,
) -> (RA, RB)
where
    A: FnOnce(JobContext<'_, Std>) -> RA + Send,
    B: FnOnce(JobContext<'_, Std>) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if ptr::eq(Std::current(), worker) {
        // SAFETY: 1. both are there, and are not used any more.
        return unsafe { worker.join_in_place(&mut a, &mut b, false) };
    }
    drop((ManuallyDrop::into_inner(a), ManuallyDrop::into_inner(b)));
    not_this_thread()
}

/// Ends a call by a thread that lends its worker: another thread is that worker.
#[cold]
fn not_this_thread() -> ! {
    panic!(
        "`Worker::join` was called in a closure of `block_in_place`, where this thread is not the worker"
    )
}

/// Runs a closure on a worker of the current pool, and passes that worker to it.
///
/// On a worker, the closure runs at once. On any other thread, it runs in the [global
/// pool](crate::ThreadPoolBuilder::build_global): either on this thread in place of a sleeping
/// worker, or on a worker, for which the calling thread waits.
///
/// # Panics
/// Resumes the closure's panic.
///
/// # Examples
/// ```
/// fn fib(worker: pool_std::Worker<'_>, n: u32) -> u32 {
///     if n < 2 {
///         return n;
///     }
///     let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
///     a + b
/// }
/// assert_eq!(pool_std::with_worker(|worker| fib(worker, 10)), 55);
/// ```
#[inline(always)]
pub fn with_worker<R: Send>(closure: impl FnOnce(Worker<'_>) -> R + Send) -> R {
    in_worker(CurrentPool::OWN, |thread, _| closure(Worker { thread }))
}

impl ThreadPool {
    /// Runs a closure on a worker as [`install`](Self::install) does, and passes that worker to it.
    ///
    /// # Panics
    /// Resumes the closure's panic.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let sum = pool.install_with(|worker| {
    ///     let (left, right) = worker.join(|_| 1, |_| 2);
    ///     left + right
    /// });
    /// assert_eq!(sum, 3);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn install_with<R: Send>(&self, closure: impl FnOnce(Worker<'_>) -> R + Send) -> R {
        self.in_worker(|thread, _| closure(Worker { thread }))
    }
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.index()).finish()
    }
}

/// Returns the worker of this thread, if the thread is a worker of this pool.
///
/// The reference must not outlive the caller's stay on the worker.
#[inline]
pub(crate) fn current_worker_of(registry: &Registry) -> Option<&WorkerThread> {
    // SAFETY: 1. a caller borrows the registry in a frame of its own, above those of the worker,
    // and does not lend the worker meanwhile.
    unsafe { WorkerThread::current() }.filter(|worker| ptr::eq(worker.registry(), registry))
}
