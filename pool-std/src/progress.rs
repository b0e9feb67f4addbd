//! Thread progress of a pool: lets threads read without locks what others replace and free.
//!
//! A thread [reads](Progress::read) under a guard. A value that is unlinked meanwhile is
//! [dropped](Progress::retire), and a [deferred](Progress::defer) closure is run, when every guard
//! that existed at that moment is gone. Jobs and threads outside the pool may do both. A guard
//! costs an exchange of a word that few threads share, and a store; or, for a closure in a job of
//! the pool ([`while_reading`](Progress::while_reading)), two stores to the worker's own cache
//! line. The values that are read have no reference count.
//!
//! Call [`ThreadPool::progress`](crate::ThreadPool::progress) to use it. For a value that is
//! replaced as a whole, an [`RcuCell`] is enough. The example `concurrent_map` of this crate is a
//! map that jobs read without locks.

use std::{cell::Cell, fmt, sync::Arc};

use pool_core::progress::Operation;

mod moments;
mod rcu;

pub use pool_core::progress::{Guard, Moment, Reclaimable};
pub use rcu::{RcuCell, RcuRef};

use crate::{
    fork,
    platform::{Registry, Std},
    thread_pool::{call::start_lazy_threads, current::current_registry, handlers::Handlers},
    worker::current_worker_of,
};

/// The thread progress of a pool, for jobs and for threads outside the pool. Created by
/// [`ThreadPool::progress`](crate::ThreadPool::progress) and [`current`](Self::current).
///
/// The handle can be cloned and stored, for instance in a structure whose nodes it frees. It does
/// not keep the pool alive; after the pool has ended, threads outside the pool complete the
/// remaining operations.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicPtr, Ordering};
/// use pool_std::progress::Reclaimable;
///
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let progress = pool.progress();
/// let shared = AtomicPtr::new(Box::into_raw(Box::new(Reclaimable::new(1))));
///
/// let read = || {
///     let _guard = progress.read();
///     // SAFETY: what was in reach when the guard began is not dropped before the guard is.
///     **unsafe { &*shared.load(Ordering::Acquire) }
/// };
/// let replace = || {
///     let new = Box::into_raw(Box::new(Reclaimable::new(2)));
///     let old = shared.swap(new, Ordering::AcqRel);
///     // SAFETY: 1. it came from a box; 2. it is out of reach.
///     unsafe { progress.retire(old) };
/// };
/// let (seen, ()) = pool.join(read, replace);
/// assert!(seen == 1 || seen == 2);
/// assert_eq!(read(), 2);
/// # // SAFETY: the last one; no thread reads.
/// # drop(unsafe { Box::from_raw(shared.into_inner()) });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Clone)]
pub struct Progress {
    registry: Arc<Registry>,
}

impl Progress {
    /// Returns the thread progress of the pool whose worker this thread is, or
    /// [lends](crate::block_in_place()), or else of the global pool.
    ///
    /// # Panics
    /// If there is no global pool and none can be built, or its threads cannot be started.
    ///
    /// # Examples
    /// ```
    /// use std::sync::LazyLock;
    /// use pool_std::progress::{Progress, RcuCell};
    ///
    /// static LIMIT: LazyLock<RcuCell<u32>> =
    ///     LazyLock::new(|| RcuCell::new(Progress::current(), 10));
    ///
    /// let both = pool_std::join(|| LIMIT.with(|limit| 2 * limit), || *LIMIT.read());
    /// assert_eq!(both, (20, 10));
    /// ```
    #[must_use]
    pub fn current() -> Self {
        Self::of(current_registry())
    }

    pub(crate) fn of(registry: Arc<Registry>) -> Self {
        // Operations are run by the workers.
        if registry.data().lazy.are_pending() && fork::is_own_process(&registry) {
            start_lazy_threads(&registry);
        }
        Self { registry }
    }

    /// Keeps reachable values from being dropped until the guard is dropped, which should be soon.
    /// Works in a job and outside the pool; a thread may have several guards.
    ///
    /// A guard may be held while the thread waits in a join or a scope and runs other jobs. Values
    /// that are retired meanwhile are kept for that long.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    ///
    /// static IS_RUN: AtomicBool = AtomicBool::new(false);
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let progress = pool.progress();
    /// let guard = progress.read();
    /// progress.defer(|| IS_RUN.store(true, SeqCst));
    /// pool.install(|| assert!(!IS_RUN.load(SeqCst)));
    /// drop(guard);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[inline]
    #[must_use = "the guard is dropped at once"]
    pub fn read(&self) -> ReadGuard<'_> {
        ReadGuard {
            _guard: Some(self.registry.read()),
        }
    }

    /// Calls a closure with a guard. In a job of the pool, this writes only to a cache line of the
    /// worker, twice, so that it costs the same with any number of workers, and needs no atomic
    /// exchange.
    ///
    /// Until the closure returns, its worker runs nothing that was deferred, not even what it
    /// deferred before. So the closure, and the jobs that the worker runs while the closure waits,
    /// must not [wait](Self::wait_for) for a moment of the pool.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    ///
    /// static IS_RUN: AtomicBool = AtomicBool::new(false);
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let progress = pool.progress();
    /// pool.install(|| {
    ///     progress.while_reading(|_| {
    ///         progress.defer(|| IS_RUN.store(true, SeqCst));
    ///         assert!(!IS_RUN.load(SeqCst));
    ///     });
    /// });
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    ///
    /// What is read under the guard stays in the closure:
    /// ```compile_fail
    /// let progress = pool_std::progress::Progress::current();
    /// let guard = progress.while_reading(|guard| guard);
    /// ```
    #[inline]
    pub fn while_reading<R>(&self, read: impl FnOnce(&ReadGuard<'_>) -> R) -> R {
        let guard = ReadGuard { _guard: None };
        self.registry.while_reading(|| read(&guard))
    }

    /// Runs a closure when every guard that exists now is gone. Does not wait until then.
    ///
    /// The closure runs on a worker between two jobs, on a thread that defers something, perhaps
    /// within this call, or on one that waits for the end of the pool. So do not hold a lock that
    /// the closure takes. Nor should a job wait for the closure: the worker that is to run it may
    /// run a long job first. When the pool has ended, jobs that the closure spawns by the free
    /// functions go to the global pool. If the closure panics, the pool's
    /// [handler](crate::ThreadPoolBuilder::panic_handler) is called; without a handler, the process
    /// aborts.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.progress().defer(move || sender.send(42).unwrap());
    /// assert_eq!(receiver.recv(), Ok(42));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn defer(&self, closure: impl FnOnce() + Send + 'static) {
        let data = Handler(Arc::as_ptr(&self.registry.data().handlers));
        self.schedule(Box::new(Operation::new(move || data.run(closure))));
    }

    /// Drops a value when every guard that exists now is gone, as [`defer`](Self::defer) does, but
    /// without allocating. Its drop must not panic.
    ///
    /// See [`Progress`] for an example.
    ///
    /// # Safety
    /// 1. `value` came from [`Box::into_raw`] and is passed here only once.
    /// 2. A thread that creates a guard after this call has begun cannot reach the value: the call
    ///    may drop it.
    pub unsafe fn retire<T: Send + 'static>(&self, value: *mut Reclaimable<T>) {
        // SAFETY: 1. and 2. are forwarded to our caller. 3. It is scheduled.
        self.schedule(unsafe { Reclaimable::into_operation(value) });
    }

    fn schedule(&self, operation: impl pool_core::progress::IntoOperation) {
        match current_worker_of(&self.registry) {
            Some(worker) => {
                worker.schedule_or_run(operation);
                // The worker of an adopted thread may come to no search after the end of its pool.
                if !self.registry.has_references() {
                    run_deferred(&self.registry);
                }
            }
            None => {
                self.registry.progress().schedule(operation);
                self.registry.announce_operations();
            }
        }
    }
}

/// Runs what is due of what was deferred, when a pool has ended: on each worker, since there may be
/// no other one, and on a thread that has waited for the end, for what was delayed until then. The
/// drop of the pool is too late for what owns a handle of the pool. Closures that defer others
/// again and again do not keep it here.
pub(crate) fn run_deferred(registry: &Registry) {
    /// The maximum number of rounds, each of which runs what the previous one deferred.
    const MOST_GENERATIONS: usize = 64;

    thread_local!(static IS_RUNNING: Cell<bool> = const { Cell::new(false) });

    /// Resets the flag, also if a value panics that is dropped.
    struct Running;

    impl Drop for Running {
        fn drop(&mut self) {
            IS_RUNNING.set(false);
        }
    }

    if IS_RUNNING.replace(true) {
        return;
    }
    let _running = Running;
    let worker = current_worker_of(registry);
    for _ in 0..MOST_GENERATIONS {
        worker.inspect(|worker| worker.notify_leftovers());
        if registry.progress().run_reached() == 0 {
            break;
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress")
            .field(self.registry.progress())
            .finish()
    }
}

/// Keeps values that were reachable when it was created from being dropped. Created by
/// [`Progress::read`].
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let progress = pool.progress();
/// let guard: pool_std::progress::ReadGuard<'_> = progress.read();
/// let later = progress.later();
/// assert!(!progress.has_reached(later), "the guard is in the way");
/// drop(guard);
/// progress.wait_for(later);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub struct ReadGuard<'p> {
    /// None in a closure of [`while_reading`](Progress::while_reading).
    _guard: Option<pool_core::ReadGuard<'p, Std>>,
}

// SAFETY: 1. so does the guard within. Without one, only references to this are given out, which
// end before the call that makes the thread read.
unsafe impl Guard for ReadGuard<'_> {}

impl fmt::Debug for ReadGuard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGuard").finish_non_exhaustive()
    }
}

/// A pointer to the pool's handler of panics.
struct Handler(*const Handlers);

// SAFETY: it is only used for a shared reference to what is `Sync`.
unsafe impl Send for Handler {}

impl Handler {
    fn run(self, closure: impl FnOnce()) {
        // SAFETY: an operation is run by a thread that uses the registry's progress, so that the
        // registry is alive, or when that is dropped, as an earlier field than the data. The latter
        // borrows all of the registry exclusively; the handlers are in an allocation of their own.
        unsafe { &*self.0 }.run_and_handle_panic("a deferred closure", closure);
    }
}
