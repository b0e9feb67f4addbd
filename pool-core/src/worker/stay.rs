//! What a worker is in the middle of that restricts the use of its deque.

use deque_core::Position;

use crate::{isolation::Isolation, job::JobRef, platform::Platform, worker::WorkerThread};

/// What a worker is in the middle of that restricts the use of its deque.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stay {
    /// Nothing.
    Own,
    /// In an isolated wait, a job that was for this worker alone.
    LoneJob,
    /// A thread has borrowed it in an isolated call, when the deque ended here.
    Borrowed(Position),
}

impl<P: Platform> WorkerThread<P> {
    /// Whether this worker may post jobs of scopes on its deque. Otherwise they go where those of a
    /// thread outside the pool go. For platforms, in each function that spawns in a scope.
    ///
    /// In an isolated wait a worker runs jobs that are for it alone, those of broadcasts. What such
    /// a job spawned on the deque would lie among the jobs of the wait, and be of another scope. By
    /// way of the scope it comes to the worker that waits for it, or to any other. The jobs of a
    /// [borrower](crate::LentWorker) may be of any scope, too.
    #[inline]
    pub fn may_post(&self) -> bool {
        matches!(self.stay.get(), Stay::Own)
    }

    /// Runs jobs until a latch is set, for a thread that has borrowed this worker in the middle of
    /// an isolated call. It runs any job, on a stack of its own, and keeps what the waits of
    /// the lender rely on:
    /// - The deque ends where it ended, or beyond. So the older jobs are taken from its begin, as
    ///   thieves take them.
    /// - The jobs that the borrower runs leave none there. So their own waits are isolated, what
    ///   they spawn for no wait goes to the injector, and what they spawn in a scope [goes by way
    ///   of the scope](Self::may_post).
    pub(super) fn borrow_isolated(&self, until: impl FnOnce()) {
        let floor = self.own().next_position();
        self.run_foreign(Stay::Borrowed(floor), Isolation::Subtree, until);
    }

    /// Runs a job that this worker alone may run, in an isolated wait, or a job that waits in a way
    /// of its own.
    ///
    /// It may not be of the subtree. What waits in it is isolated all the same: it is above the
    /// frame that waits here. It leaves no job on the deque, see [`may_post`](Self::may_post).
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    pub(super) unsafe fn run_lone_job(&self, job: JobRef, isolation: Isolation) {
        // SAFETY: 1. obligation 1 is forwarded to our caller.
        self.run_foreign(Stay::LoneJob, isolation, || unsafe { self.run(job) });
    }

    /// Calls a closure that runs jobs above waits which are not for them, and leaves none of theirs
    /// on the deque.
    fn run_foreign(&self, stay: Stay, isolation: Isolation, closure: impl FnOnce()) {
        let begin = self.own().next_position();
        let outer = self.stay.replace(stay);
        self.with_lineage(None, isolation, closure);
        self.stay.set(outer);
        // If the deque ends elsewhere, thieves have taken what these jobs have pushed, and all
        // older jobs before. They may not have ended with what they run of it.
        let end = self.own().next_position();
        if end != begin {
            self.foreign_until.set(end);
        }
    }

    /// Whether thieves may have taken a job at this position from the jobs of
    /// [`run_foreign`](Self::run_foreign). Only their last position is noted, so what was taken
    /// before is among them.
    pub(super) fn may_be_foreign(&self, position: Position) -> bool {
        let until = self.foreign_until.get();
        // The deque never ends below that again. If nothing was noted, or positions have come round
        // since, it seems to.
        !position.is_at_or_after(until) && self.own().next_position().is_at_or_after(until)
    }

    /// Takes a job of this worker's deque for a thread that has borrowed the worker: the newest
    /// from a position on, or else the oldest one.
    #[cold]
    pub(super) fn take_borrowed_job(&self, floor: Position) -> Option<JobRef> {
        self.take_job_from(floor).or_else(|| self.pop_oldest())
    }
}
