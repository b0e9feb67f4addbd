//! What a worker is doing that restricts the use of its deque.

use core::cell::Cell;

use deque_core::Position;

use crate::{isolation::Isolation, job::JobRef, platform::Platform, worker::WorkerThread};

/// What a worker is doing that restricts the use of its deque.
#[derive(Debug, Clone, Copy)]
pub(super) enum DequeUse {
    /// Nothing that restricts it.
    Any,
    /// It runs, in an isolated wait, a job that only this worker may run.
    LoneJob,
    /// A thread has borrowed it in an isolated call, when the deque ended at this position.
    Borrowed(Position),
    /// It runs what is left on its deque, before it leaves.
    Leaving,
}

/// Restores what the worker was doing, when this is dropped.
struct RestoreDequeUse<'w> {
    deque_use: &'w Cell<DequeUse>,
    outer: DequeUse,
}

impl Drop for RestoreDequeUse<'_> {
    fn drop(&mut self) {
        self.deque_use.set(self.outer);
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Whether this worker may post jobs of scopes on its deque. Otherwise, such jobs go where
    /// those of a thread outside the pool go. Platforms ask this in each function that spawns in a
    /// scope; those whose workers [run leftovers](Self::run_leftovers) ask it for detached jobs,
    /// too.
    ///
    /// In an isolated wait, a worker also runs jobs that only it may run, those of broadcasts. If
    /// such a job spawned jobs on the deque, they would lie among the jobs of the wait, although
    /// they belong to another scope. Spawned by way of their scope, they reach the worker that
    /// waits for it, or any other. The jobs that a [borrower](crate::LentWorker) runs may belong to
    /// any scope, too. What a worker that is about to leave runs must leave no jobs behind.
    #[inline]
    pub fn may_post(&self) -> bool {
        matches!(self.deque_use.get(), DequeUse::Any)
    }

    /// Calls a closure that runs any jobs, on top of waits that are not for them: for a thread that
    /// has borrowed this worker in an isolated call, for a yield in such a call, or before the
    /// worker leaves a pool that isolates. Preserves what those waits rely on:
    /// - The deque ends where it ended before, or beyond. So older jobs are taken from its start,
    ///   as thieves take them.
    /// - The jobs that the closure runs leave no jobs there. So their own waits are isolated, their
    ///   detached jobs go to the injector, and what they spawn in a scope [goes by way of the
    ///   scope](Self::may_post).
    pub(super) fn borrow_isolated(&self, until: impl FnOnce()) {
        let floor = self.own().next_position();
        self.run_foreign(DequeUse::Borrowed(floor), Isolation::Subtree, until);
    }

    /// Calls a closure that runs what is left on the deque, before this worker leaves.
    pub(super) fn run_leaving(&self, closure: impl FnOnce()) {
        let _restored = self.replace_deque_use(DequeUse::Leaving);
        closure();
    }

    /// Restricts the deque until the result is dropped, also by a panic of what the program has
    /// implemented, such as a parker.
    fn replace_deque_use(&self, deque_use: DequeUse) -> RestoreDequeUse<'_> {
        RestoreDequeUse {
            deque_use: &self.deque_use,
            outer: self.deque_use.replace(deque_use),
        }
    }

    /// Runs a job that only this worker may run, in an isolated wait, or in an isolated job that
    /// waits in its own way.
    ///
    /// The job need not belong to the subtree. Its own waits are isolated all the same, because
    /// they are on top of the frame that waits here. It leaves no jobs on the deque, see
    /// [`may_post`](Self::may_post).
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    pub(super) unsafe fn run_lone_job(&self, job: JobRef, isolation: Isolation) {
        // SAFETY: 1. obligation 1 is forwarded to our caller.
        self.run_foreign(DequeUse::LoneJob, isolation, || unsafe { self.run(job) });
    }

    /// Calls a closure that runs jobs on top of waits that are not for them, and that leaves none
    /// of their jobs on the deque.
    fn run_foreign(&self, deque_use: DequeUse, isolation: Isolation, closure: impl FnOnce()) {
        let begin = self.own().next_position();
        let restored = self.replace_deque_use(deque_use);
        self.with_lineage(None, isolation, closure);
        drop(restored);
        // If the deque ends elsewhere, thieves have taken what these jobs have pushed, and all
        // older jobs before. The thieves may still run some of that.
        let end = self.own().next_position();
        if end != begin {
            self.foreign_until.set(end);
        }
    }

    /// Whether thieves may have taken a job at this position from the jobs of
    /// [`run_foreign`](Self::run_foreign). Only the last position of such jobs is noted, so all
    /// jobs that were taken before it count as such.
    pub(super) fn may_be_foreign(&self, position: Position) -> bool {
        let until = self.foreign_until.get();
        // The deque never ends before that position again. If it seems to, no position was noted,
        // or positions have wrapped around since.
        !position.is_at_or_after(until) && self.own().next_position().is_at_or_after(until)
    }

    /// Takes a job of this worker's deque in [`borrow_isolated`](Self::borrow_isolated): the newest
    /// one, if it was pushed from a position on, or else the oldest one.
    #[cold]
    pub(super) fn take_borrowed_job(&self, floor: Position) -> Option<JobRef> {
        self.take_job_from(floor).or_else(|| self.pop_oldest())
    }
}
