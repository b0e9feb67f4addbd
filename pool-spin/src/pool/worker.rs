//! The worker that a closure runs on.

use core::fmt;

use pool_core::{WorkerThread, progress::IntoOperation};

use super::system::System;

/// The worker that a closure runs on.
pub struct Worker<'w, S: System>(pub(crate) &'w WorkerThread<S>);

impl<S: System> Worker<'_, S> {
    /// The worker's number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index().get()
    }

    /// Runs both closures, potentially at the same time on two cores, and returns both results.
    /// Each is given the worker that it runs on.
    ///
    /// If this worker's deque is full, they are run one after the other.
    #[inline(always)]
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Worker<'_, S>) -> RA,
        B: FnOnce(Worker<'_, S>) -> RB + Send,
        RB: Send,
    {
        self.0.join_context(
            |by| a(Worker(by.worker())),
            |by| b(Worker(by.worker())),
            false,
        )
    }

    /// Runs one job from anywhere in the pool, if there is one. For a job that has to wait for
    /// something that the pool does not know of.
    pub fn yield_now(self) -> bool {
        self.0.yield_now()
    }

    /// Schedules an operation to be run when every [delay](super::SpinPool::delay) that is under
    /// way now has ended: to free what was taken out of others' reach, for instance. This worker
    /// runs it when it next searches for work; if it leaves before, another one does.
    ///
    /// If the worker is asleep by then, the end of the last delay wakes one.
    ///
    /// Any job may call this, and so may an operation. An operation may wait, for instance in a
    /// [`join`](Self::join); the worker runs other jobs and operations meanwhile.
    pub fn schedule(self, operation: impl IntoOperation) {
        self.0.schedule(operation);
    }
}

impl<S: System> Clone for Worker<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: System> Copy for Worker<'_, S> {}

impl<S: System> fmt::Debug for Worker<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.index()).finish()
    }
}
