//! Pools that detect deadlocks by the accounting of `sleep-core`.

use sleep_core::{
    CoreLatch, WorkerIndex,
    deadlock::{Accounting, DeadlockHandler, NotActive, RawMutex, Ticket, WorkerEntry},
};

use super::DeadlockDetection;
use crate::{
    metrics::{Event, Observer as _},
    platform::Platform,
    unwind::no_unwind,
    worker::WorkerThread,
};

impl<M, W, H> DeadlockDetection for Accounting<M, W, H>
where
    M: RawMutex + Send + Sync,
    W: AsRef<[WorkerEntry]> + Send + Sync,
    H: DeadlockHandler + Send + Sync,
{
    fn is_for(&self, workers: usize) -> bool {
        self.num_workers() == workers
    }

    fn arrive(&self, worker: WorkerIndex) {
        Self::arrive(self, worker);
    }

    fn leave(&self, worker: WorkerIndex, may_run: impl Fn(WorkerIndex) -> bool) {
        Self::leave(self, worker, may_run);
    }

    fn fall_asleep(
        &self,
        worker: WorkerIndex,
        latch: &CoreLatch,
        may_run: impl Fn(WorkerIndex) -> bool,
    ) {
        Self::fall_asleep(self, worker, latch, may_run);
    }

    fn wake_up(&self, worker: WorkerIndex) {
        Self::wake_up(self, worker);
    }

    fn begin_outside(&self) {
        Self::begin_outside(self);
    }

    fn end_outside(&self, may_run: impl Fn(WorkerIndex) -> bool) {
        Self::end_outside(self, may_run);
    }

    #[inline]
    fn will_wake(&self, worker: WorkerIndex) {
        Self::will_wake(self, worker);
    }

    #[inline]
    fn is_waking(&self, worker: WorkerIndex) -> bool {
        Self::is_waking(self, worker)
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Marks this worker as blocked, right before it waits for an event that the pool does not know
    /// about. The thread that causes the event unmarks this worker through
    /// [`Registry::deadlock`](crate::Registry::deadlock).
    ///
    /// Jobs that this worker has queued, and operations that it has scheduled, are left to the
    /// other workers, which are woken for them.
    ///
    /// # Errors
    /// [`NotActive`] if the worker is already blocked, or sleeps because a hook of the platform
    /// calls this.
    pub fn mark_blocked<M, W, H>(&self) -> Result<Ticket, NotActive>
    where
        P: Platform<Deadlock = Accounting<M, W, H>>,
        M: RawMutex,
        W: AsRef<[WorkerEntry]>,
        H: DeadlockHandler,
    {
        let registry = self.registry();
        no_unwind(|| {
            // A worker that fell asleep may have overlooked what a join has queued. A join promises
            // that its worker then runs the job itself, but this worker is about to block.
            self.notify_leftovers();
            let deadlock = registry.deadlock();
            let ticket = deadlock.mark_blocked(self.index(), |worker| registry.may_run(worker));
            // The other workers can rely on one worker fewer.
            registry.reconsider_wakes();
            if ticket.is_ok() {
                self.observer().observe(Event::Blocked, P::now);
            }
            ticket
        })
    }

    /// Tells the observer that this worker continues, after a section in which it was marked as
    /// blocked.
    pub fn note_unblocked(&self) {
        self.observer().observe(Event::Unblocked, P::now);
    }
}
