//! Moments of a pool's thread progress, and how threads wait for them.

use std::{mem, sync::Arc};

use pool_core::{
    CoreLatch,
    progress::{Moment, Operation, Parker},
};

use super::{Handler, Progress};
use crate::{
    fork,
    panics::AbortOnUnwind,
    parker::{OsParker, ParkerKind},
    platform::{Registry, WorkerThread, pool_of},
};

impl Progress {
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
    /// let moment = progress.later();
    /// assert!(!progress.has_reached(moment));
    /// drop(guard);
    /// progress.wait_for(moment);
    /// assert!(progress.has_reached(moment));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn later(&self) -> Moment<'_> {
        self.registry.progress().later()
    }

    /// Whether a moment has been reached. Polling makes progress if nothing prevents it. In a child
    /// of `fork`, a guard that a thread of the parent had at the fork prevents it for good.
    ///
    /// # Panics
    /// If the moment is another pool's.
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
    /// - If the moment belongs to another pool, or the pool to a parent of this process.
    /// - If this worker of the pool is in a closure of [`while_reading`](Self::while_reading), and
    ///   the moment has not been reached. It may be one that the closure delays.
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
        assert!(
            !self.registry.is_reading(),
            "a closure that reads waits for its own end"
        );
        // SAFETY: 1. it is used in this call, and the thread stays a worker meanwhile.
        match unsafe { WorkerThread::current() } {
            Some(worker) => self.wait_as_worker(worker, moment),
            None => {
                let parker = Announcing {
                    parker: OsParker::new(ParkerKind::default()),
                    registry: &self.registry,
                };
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
    /// If the moment is another pool's.
    ///
    /// # Examples
    /// ```
    /// use std::thread;
    ///
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
    /// let progress = pool.progress();
    /// let moment = progress.later();
    /// let this_thread = thread::current();
    /// progress.wakeup(moment, move || this_thread.unpark());
    /// // ... other work ...
    /// while !progress.has_reached(moment) {
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

/// The parker of a thread outside the pool that waits for a moment. The request of a wake-up may
/// have made operations due, so the thread wakes a worker for them before it parks: what it waits
/// for may wait for one of them.
struct Announcing<'r> {
    parker: OsParker,
    registry: &'r Registry,
}

impl Parker for Announcing<'_> {
    fn park(&self) {
        self.registry.announce_operations();
        self.parker.park();
    }

    fn unpark(&self) {
        self.parker.unpark();
    }

    fn relax(&self) {
        self.parker.relax();
    }
}

/// A pointer to a latch that a worker waits for.
struct Latch(*const CoreLatch);

// SAFETY: the latch is `Sync`, and its worker waits until it is set.
unsafe impl Send for Latch {}
