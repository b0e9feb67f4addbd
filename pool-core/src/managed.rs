//! A worker's part in the thread progress of its pool.

use core::{
    cell::{Cell, RefCell},
    mem,
};

use deque_core::Storage;
use progress_core::{DueOperation, IntoOperation, Operations};

use crate::{
    job::discard_panic,
    platform::{ManagedWorker, Platform},
    worker::WorkerThread,
};

/// How many operations a worker collects before it makes progress in the middle of a job.
const SCHEDULED_AT_ONCE: usize = 64;

/// The slots that a worker's deque keeps for the next burst. A burst of more pays for its ring
/// anew: two copies for each job at most, which is a few percent of what its spawn costs.
const KEPT_SLOTS: usize = 1024;

/// A worker's part in the thread progress of its pool.
///
/// A worker reads, schedules and runs operations in frames that do not know of each other: a job
/// may be run within an operation, and another operation within that job. So the managed thread is
/// not borrowed mutably while an operation or a job runs, and not at all to schedule. Only two
/// kinds of code can find it borrowed: jobs that run within a closure that reads, and platform code
/// called in the middle of progress, such as a parker that searches for work. They then proceed
/// without the thread.
pub(crate) struct Managed<P: Platform> {
    /// Borrowed once more by each frame that reads, and mutably while progress is made. It waits
    /// unless a frame reads, so that no job delays progress, however long it runs.
    thread: RefCell<ManagedWorker<P>>,
    /// The operations that were scheduled since progress was last made.
    scheduled: Cell<Operations>,
    /// The number of frames of this worker that run operations.
    depth: Cell<usize>,
}

impl<P: Platform> Managed<P> {
    pub(crate) fn new(thread: ManagedWorker<P>) -> Self {
        Self {
            thread: RefCell::new(thread),
            scheduled: Cell::new(Operations::new()),
            depth: Cell::new(0),
        }
    }

    /// Returns how many operations were scheduled since progress was last made.
    fn schedule(&self, operation: impl IntoOperation) -> usize {
        let mut operations = self.scheduled.take();
        operations.push(operation);
        let count = operations.len();
        self.scheduled.set(operations);
        count
    }

    /// Calls a closure while nothing is freed that operations free, such as what the pool's deques
    /// have replaced. Returns the closure if progress is being made further up the stack.
    ///
    /// The closure may run jobs. They find this worker's operations held up until it returns.
    #[inline]
    pub(crate) fn while_active<F: FnOnce() -> R, R>(&self, read: F) -> Result<R, F> {
        let Ok(thread) = self.thread.try_borrow() else {
            return Err(read);
        };
        let _pinned = thread.pin();
        Ok(read())
    }

    /// Whether a frame further up the stack reads, or makes progress.
    pub(crate) fn is_in_use(&self) -> bool {
        self.thread.try_borrow_mut().is_err()
    }
}

impl<P: Platform> Drop for Managed<P> {
    fn drop(&mut self) {
        // The thread leaves the operations to others when it is dropped.
        let scheduled = self.scheduled.take();
        self.thread.get_mut().schedule_all(scheduled);
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Schedules an operation to be run when all workers have made progress. This worker runs it
    /// when it next searches for work, or another one if this one has left. Any job may call
    /// this, and any operation.
    ///
    /// A worker that is about to sleep leaves its operations to the pool, and makes progress for
    /// them. It first runs those that are then due. Delayed operations are run by a worker that is
    /// awake, or is woken, when the last guard that delays them is dropped.
    pub fn schedule(&self, operation: impl IntoOperation) {
        self.managed.schedule(operation);
        self.stay_awake_for_operations();
    }

    /// Wakes this worker itself if it is registered as a sleeper, which means that its parker has
    /// called into the pool: its last look has not seen what it has scheduled since.
    #[inline]
    fn stay_awake_for_operations(&self) {
        if self.awake_index().is_none() || self.shared().is_lone_sleeper() {
            self.registry().wake_worker(self.index());
        }
    }

    /// Schedules an operation as [`schedule`](Self::schedule) does. Whenever there are 64 of them,
    /// makes progress and runs what is due. So operations do not pile up on a worker whose jobs
    /// schedule them, but which does not search for work for a long time.
    ///
    /// An operation that calls this does not run others within itself.
    pub fn schedule_or_run(&self, operation: impl IntoOperation) {
        let managed = &self.managed;
        if managed.schedule(operation) >= SCHEDULED_AT_ONCE && managed.depth.get() == 0 {
            self.run_maintenance();
        }
        self.stay_awake_for_operations();
    }

    /// Gives the buffers that this worker's deque has replaced to progress, and runs operations
    /// that are due. Called when there is time.
    ///
    /// An operation may wait, as a job may: then this is called within it.
    pub(crate) fn run_maintenance(&self) {
        self.run_operations(self.make_progress());
        self.leave_due();
    }

    /// Runs operations that are due, up to a limit. The caller [leaves](Self::leave_due) the others
    /// before it goes on with a job.
    pub(crate) fn run_operations(&self, limit: usize) {
        for _ in 0..limit {
            let Some(operation) = self.take_operation() else {
                return;
            };
            self.run_operation(operation);
        }
    }

    /// Leaves to the pool what this worker has taken over from it and not run, because it may now
    /// go on with a job for any time.
    pub(crate) fn leave_due(&self) {
        if let Ok(mut thread) = self.managed.thread.try_borrow_mut() {
            thread.leave_due();
        }
        self.registry().announce_operations();
    }

    /// Takes an operation that is due, if there is one.
    pub(crate) fn take_operation(&self) -> Option<DueOperation> {
        // Otherwise code of the platform has been called in the middle of progress.
        let mut thread = self.managed.thread.try_borrow_mut().ok()?;
        thread.take_due()
    }

    /// Runs an operation that is due. It may take as long as a job.
    pub(crate) fn run_operation(&self, operation: DueOperation) {
        let depth = &self.managed.depth;
        depth.set(depth.get() + 1);
        let result = P::catch_unwind(|| operation.run());
        depth.set(depth.get() - 1);
        if let Err(panic) = result {
            // This may be in the middle of a join, which must not be unwound.
            discard_panic::<P>(panic);
        }
    }

    /// Whether there is something for [`leave_operations`](Self::leave_operations) to leave.
    pub(crate) fn holds_operations(&self) -> bool {
        let managed = &self.managed;
        // Otherwise it would leave nothing.
        let Ok(thread) = managed.thread.try_borrow_mut() else {
            return false;
        };
        let scheduled = managed.scheduled.take();
        let count = scheduled.len() + thread.pending();
        managed.scheduled.set(scheduled);
        count > 0
    }

    /// Leaves this worker's operations to the pool, and makes progress for them, before it sleeps
    /// or leaves. Not while it is registered as a sleeper, because progress calls wake-ups.
    /// Returns whether any operation is due, of this worker or of another one.
    pub(crate) fn leave_operations(&self) -> bool {
        let managed = &self.managed;
        // Otherwise code of the platform has been called in the middle of progress, and the frame
        // that makes it goes on.
        if let Ok(mut thread) = managed.thread.try_borrow_mut() {
            self.collect_operations(&mut thread);
            thread.leave_operations();
        }
        self.registry().progress().has_due()
    }

    /// Gives the managed thread what was scheduled, and what the deque has replaced. Not within an
    /// operation on that deque.
    fn collect_operations(&self, thread: &mut ManagedWorker<P>) {
        if P::Storage::REPLACES {
            // After a burst, the large ring is replaced and freed like the rings that the deque had
            // outgrown. A worker comes here when it has found nothing to do, and once more before
            // it sleeps.
            self.own().shrink_to(KEPT_SLOTS);
            // SAFETY: 1. the rings are freed by progress, and every steal is made by a worker that
            // is active in it.
            if let Some(replaced) = unsafe { self.own().take_replaced() } {
                P::free_later(thread, replaced);
            }
        }
        thread.schedule_all(self.managed.scheduled.take());
    }

    /// Returns how many operations may be run now, if they are due.
    pub(crate) fn make_progress(&self) -> usize {
        let managed = &self.managed;
        // Not while a frame further up reads, nor in the middle of this.
        let Ok(mut thread) = managed.thread.try_borrow_mut() else {
            return 0;
        };
        self.collect_operations(&mut thread);
        if !thread.has_operations() {
            return 0;
        }
        let mut active = thread.activate();
        if active.update() {
            active.leader_update();
        }
        mem::drop(active);
        thread.run_limit()
    }
}
