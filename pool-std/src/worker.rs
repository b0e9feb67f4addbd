//! Joins by those who know their worker.

use std::fmt;

use crate::{global::in_worker, platform::WorkerThread, pool::ThreadPool};

/// The worker that a closure runs on. From [`with_worker`] and [`ThreadPool::install_with`].
///
/// A closure that has it need not look for it: each [`join`](Self::join) is given the worker, and
/// gives it on. That saves a call where thread-locals are found by one, as in a shared library; in a
/// program for Linux it saves two instructions, and no time worth mentioning.
///
/// # Examples
/// ```
/// use pool_std::Worker;
///
/// fn fib(worker: Worker<'_>, n: u32) -> u64 {
///     if n < 2 {
///         return n.into();
///     }
///     let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
///     a + b
/// }
/// assert_eq!(pool_std::with_worker(|worker| fib(worker, 20)), 6765);
/// ```
///
/// It stays on its thread:
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
    /// The number of the worker in its pool.
    #[must_use]
    pub fn index(self) -> usize {
        self.thread.index().get()
    }

    /// As [`join`](crate::join()), and gives each closure the worker that it runs on.
    ///
    /// # Panics
    /// Continues the panic of `a`, or else that of `b`, when both have ended.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Worker<'_>) -> RA + Send,
        B: FnOnce(Worker<'_>) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.thread.join_context(
            |by| {
                a(Worker {
                    thread: by.worker(),
                })
            },
            |by| {
                b(Worker {
                    thread: by.worker(),
                })
            },
            false,
        )
    }
}

/// Runs a closure on the current pool, here if this thread is one of its workers, and tells it its
/// worker. On any other thread, the closure is handed to the
/// [global pool](crate::ThreadPoolBuilder::build_global), and the thread waits.
///
/// # Panics
/// Continues the closure's panic.
#[inline(always)]
pub fn with_worker<R: Send>(closure: impl FnOnce(Worker<'_>) -> R + Send) -> R {
    in_worker(|thread, _| closure(Worker { thread }))
}

impl ThreadPool {
    /// As [`install`](Self::install), and tells the closure its worker.
    ///
    /// # Panics
    /// Continues the closure's panic.
    pub fn install_with<R: Send>(&self, closure: impl FnOnce(Worker<'_>) -> R + Send) -> R {
        self.in_worker(|thread| closure(Worker { thread }))
    }
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.index()).finish()
    }
}
