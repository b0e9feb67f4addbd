//! Thread progress of a pool: lets threads read without locks what others replace and free.
//!
//! A thread [reads](Progress::read) under a guard. A value that is unlinked meanwhile is
//! [dropped](Progress::retire), and a [deferred](Progress::defer) closure is run, when every guard
//! that existed at that moment is gone. Jobs and threads outside the pool may do both. A guard
//! costs two changes of a word that few threads share, or, for a closure in a job of the pool
//! ([`while_reading`](Progress::while_reading)), two stores to the worker's own cache line. The
//! values that are read have no reference count.
//!
//! Call [`ThreadPool::progress`](crate::ThreadPool::progress) to use it. For a value that is
//! replaced as a whole, an [`RcuCell`] is enough. The example `concurrent_map` of this crate is a
//! map that jobs read without locks.

use std::{cell::Cell, fmt, mem, sync::Arc};

use pool_core::{CoreLatch, progress::Operation};

mod rcu;

pub use pool_core::progress::{Guard, Moment, Reclaimable};
pub use rcu::{RcuCell, RcuRef};

use crate::{
    fork,
    panics::AbortOnUnwind,
    parker::{OsParker, ParkerKind},
    platform::{Registry, Std, WorkerThread, pool_of},
    thread_pool::handlers::Handlers,
    worker::current_worker_of,
};

/// The thread progress of a pool, for jobs and for threads outside the pool. Created by
/// [`ThreadPool::progress`](crate::ThreadPool::progress).
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
    pub(crate) fn of(registry: &Arc<Registry>) -> Self {
        Self {
            registry: registry.clone(),
        }
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
            _guard: self.registry.read(),
        }
    }

    /// Calls a closure under a guard. In a job of the pool, this costs less than
    /// [`read`](Self::read) does: two stores to a cache line of the worker.
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
    ///     progress.while_reading(|| {
    ///         progress.defer(|| IS_RUN.store(true, SeqCst));
    ///         assert!(!IS_RUN.load(SeqCst));
    ///     });
    /// });
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[inline]
    pub fn while_reading<R>(&self, read: impl FnOnce() -> R) -> R {
        self.registry.while_reading(read)
    }

    /// Runs a closure when every guard that exists now is gone. Does not wait until then.
    ///
    /// The closure runs on a worker between two jobs, or on a thread that defers something, perhaps
    /// within this call. So do not hold a lock that the closure takes. If the closure panics, the
    /// pool's [handler](crate::ThreadPoolBuilder::panic_handler) is called; without a handler, the
    /// process aborts.
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

    /// Returns the moment when every guard that exists now is gone.
    ///
    /// When it is reached, each thread that creates or holds a guard has also executed a full fence
    /// since this call. So values that were written before this call and are published after that
    /// moment are seen whole, even by readers that execute no fence.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let progress = pool.progress();
    /// let guard = progress.read();
    /// let value = progress.later();
    /// assert!(!progress.has_reached(value));
    /// drop(guard);
    /// progress.wait_for(value);
    /// assert!(progress.has_reached(value));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn later(&self) -> Moment<'_> {
        self.registry.progress().later()
    }

    /// Whether a moment has been reached. Polling makes progress if nothing prevents it.
    ///
    /// # Panics
    /// If the value is another pool's.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let progress = pool.progress();
    /// let later = progress.later();
    /// // ... other work ...
    /// while !progress.has_reached(later) {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn has_reached(&self, moment: Moment<'_>) -> bool {
        let is_reached = self.registry.progress().has_reached(moment);
        self.registry.announce_operations();
        is_reached
    }

    /// Waits for a moment. A worker of any pool runs jobs of its pool meanwhile; any other thread
    /// parks. Do not call this while holding a guard of this pool: the thread would wait for
    /// itself.
    ///
    /// # Panics
    /// If the moment belongs to another pool, or the pool to a parent of this process.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let progress = pool.progress();
    /// let later = progress.later();
    /// progress.wait_for(later);
    /// assert!(progress.has_reached(later));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn wait_for(&self, moment: Moment<'_>) {
        if self.has_reached(moment) {
            return;
        }
        fork::check(&self.registry);
        // SAFETY: 1. it is used in this call, and the thread stays a worker meanwhile.
        match unsafe { WorkerThread::current() } {
            Some(worker) => self.wait_as_worker(worker, moment),
            None => {
                let parker = OsParker::new(ParkerKind::default());
                self.registry.progress().wait_for(moment, &parker);
                self.registry.announce_operations();
            }
        }
    }

    fn wait_as_worker(&self, worker: &WorkerThread, moment: Moment<'_>) {
        let latch = CoreLatch::new();
        let waiting = Latch(&raw const latch);
        let registry = pool_of(worker);
        let index = worker.index();
        // The latch must not go before it is set.
        let no_way_out = AbortOnUnwind("pool-std: a parker panicked; aborting");
        self.wakeup(moment, move || {
            let latch = waiting;
            // SAFETY: 1. the worker leaves the frame when the latch is set; 2. it alone waits; 3.
            // the registry is held; 4. the moment is reached.
            unsafe { registry.set_latch(latch.0, index) };
        });
        worker.wait_for_outside(&latch);
        mem::forget(no_way_out);
    }

    /// Calls a closure that wakes a thread or a task when a moment is reached. Does not wait. The
    /// closure is called by another thread in the middle of its work, or by this thread at once, so
    /// it must only wake. Its panic is handled like that of a [deferred](Self::defer) closure.
    ///
    /// # Panics
    /// If the value is another pool's.
    ///
    /// # Examples
    /// ```
    /// use std::thread;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let progress = pool.progress();
    /// let value = progress.later();
    /// let this_thread = thread::current();
    /// progress.wakeup(value, move || this_thread.unpark());
    /// // ... other work ...
    /// while !progress.has_reached(value) {
    ///     thread::park();
    /// }
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn wakeup(&self, moment: Moment<'_>, wake: impl FnOnce() + Send + 'static) {
        let data = Handler(Arc::as_ptr(&self.registry.data().handlers));
        let operation = Box::new(Operation::new(move || data.run(wake)));
        self.registry.progress().wakeup(moment, operation);
        self.registry.announce_operations();
    }
}

/// Runs what is due of what was deferred, on a thread that is a worker of a pool that has ended. If
/// the thread was adopted, there may be no other worker, and the last reference to the pool is
/// never dropped. Closures that defer others again and again do not keep it here.
pub(crate) fn run_deferred(registry: &Registry) {
    /// How many times what was run may have deferred more.
    const MOST_GENERATIONS: usize = 64;

    thread_local!(static IS_RUNNING: Cell<bool> = const { Cell::new(false) });

    /// Resets the flag, also if a value panics that is dropped.
    struct Running;

    impl Drop for Running {
        fn drop(&mut self) {
            IS_RUNNING.set(false);
        }
    }

    if let Some(worker) = current_worker_of(registry)
        && !IS_RUNNING.replace(true)
    {
        let _running = Running;
        for _ in 0..MOST_GENERATIONS {
            worker.notify_leftovers();
            if registry.progress().run_reached() == 0 {
                break;
            }
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
    _guard: pool_core::ReadGuard<'p, Std>,
}

// SAFETY: 1. so does the guard within.
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

/// A pointer to a latch that a worker waits for.
struct Latch(*const CoreLatch);

// SAFETY: the latch is `Sync`, and its worker waits until it is set.
unsafe impl Send for Latch {}
