//! What becomes of a worker's jobs and operations when the worker turns to something else.
//!
//! Other workers take them, but a worker that waits in isolation does not: it could not tell that
//! they descend from what it waits for, and it may be the only other worker. So a worker runs its
//! jobs itself before it parks, and before it continues after an isolated job, even in a wait.

use deque_core::Position;

use crate::{
    isolation::Isolation,
    platform::Platform,
    primitive::{Ordering, fence},
    worker::{
        WorkerThread,
        cold::{ColdPath, Path},
    },
};

impl<P: Platform> WorkerThread<P> {
    /// Leaves this worker's operations to the pool, and its jobs to thieves: it ends the bias of
    /// the deque, because the thread that owned it will answer no thief. Returns whether any
    /// operation is due.
    pub(crate) fn leave_jobs_and_operations(&self) -> bool {
        // First, because progress may call code that queues jobs.
        let is_due = self.leave_operations();
        if self.has_pending_jobs() {
            self.own.end_bias();
        }
        is_due
    }

    /// Wakes another worker for the jobs and operations of this one, which is about to leave before
    /// the pool ends, or to block.
    #[doc(alias = "hand_over")]
    pub fn notify_leftovers(&self) {
        if self.leave_jobs_and_operations() || self.has_work_for_others() {
            // As if the work were posted now, by a thread that will not run it.
            self.registry().announce_jobs(1);
            if self.has_pending_jobs() {
                // Ordering: pairs with the fence of a worker that falls asleep in an isolated wait.
                // If that one comes first, we see that it sleeps. If ours does, it sees our jobs.
                // Nothing weaker orders the pushes before our look.
                fence(Ordering::SeqCst);
                self.wake_awaiting();
            }
        }
    }

    /// Runs the jobs of scopes that an isolated job has left on the deque from a position on. After
    /// the isolated job, a worker that waits in isolation could not find out that they descend from
    /// what it waits for, and this worker may run something that waits for that worker, or park.
    pub(crate) fn run_rest_from(&self, begin: Position) {
        P::run_cold(ColdPath(Path::RunRest(self, begin)));
    }

    pub(super) fn run_rest_cold(&self, begin: Position) {
        while self.own().next_position().is_at_or_after(begin) && self.run_isolated_job(begin) {}
    }

    /// Runs the jobs that are left on this worker's deque, before the worker leaves. A worker that
    /// waits in isolation may not take them, although it may wait for them, and may be the only
    /// other worker. To be called at top level.
    ///
    /// They run like other jobs at top level: their waits are isolated only in a pool that isolates
    /// all waits. But what they spawn goes where other workers, or the one that waits, look for it.
    /// So this ends.
    pub fn run_leftovers(&self) {
        match self.isolation_of_job() {
            Isolation::Anything => self.run_leaving(|| self.run_deque_jobs()),
            _ => self.run_leftovers_isolated(),
        }
    }

    fn run_leftovers_isolated(&self) {
        if self.has_pending_jobs() {
            self.borrow_isolated(|| self.run_deque_jobs());
        }
    }

    fn run_deque_jobs(&self) {
        while let Some(job) = self.take_deque_job() {
            // SAFETY: 1. the queue gave it to us alone.
            unsafe { self.run(job) };
        }
    }

    /// Records that this worker is about to put a job on its deque for which another worker waits
    /// in isolation, and which that one does not take from there. Until the worker has [run what it
    /// owes](Self::run_owed_jobs), or searches because its deque is empty, thieves take the jobs of
    /// its deque one by one: a thief that moved some to its own deque could leave them there.
    pub fn note_owed_job(&self) {
        self.shared().note_owed_job();
    }

    /// Runs the jobs that are left on this worker's deque, before the worker leaves, if it has
    /// recorded such a job.
    pub fn run_owed_jobs(&self) {
        if self.shared().owes_job() {
            // They belong to what the other worker waits for.
            self.run_leftovers_isolated();
            self.shared().forget_jobs();
        }
    }
}
