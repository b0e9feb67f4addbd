//! The worker that a closure runs on.

use core::fmt;

use pool_core::{WorkerThread, progress::IntoOperation};

use super::{
    arena::Arena,
    error::SpawnError,
    platform::Cores,
    scope::{Scope, in_scope},
    spawn,
};
use crate::machine::Machine;

/// How many closures a scope without an arena of its own has room for.
const SCOPE_SLOTS: usize = 16;

/// The worker that a closure runs on.
pub struct Worker<'w, M: Machine, const CORES: usize, const JOBS: usize>(
    pub(crate) &'w WorkerThread<Cores<M, CORES, JOBS>>,
);

impl<M: Machine, const CORES: usize, const JOBS: usize> Worker<'_, M, CORES, JOBS> {
    /// The worker's number.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.index().get()
    }

    /// Runs both closures, potentially at the same time on two cores, and returns both results.
    /// Each is given the worker that it runs on.
    ///
    /// If this worker's deque is full, they are run one after the other.
    pub fn join<A, B, RA, RB>(self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(Worker<'_, M, CORES, JOBS>) -> RA,
        B: FnOnce(Worker<'_, M, CORES, JOBS>) -> RB + Send,
        RB: Send,
    {
        self.0.join_context(
            |by| a(Worker(by.worker())),
            |by| b(Worker(by.worker())),
            false,
        )
    }

    /// Runs a closure that may spawn others, which may borrow from outside, and waits for all of
    /// them. Has room for 16 that have not begun, in this frame.
    ///
    /// # Examples
    /// See [`Scope`].
    pub fn scope<'scope, R>(self, body: impl FnOnce(&Scope<'scope, M, CORES, JOBS>) -> R) -> R {
        self.scope_in(&Arena::<SCOPE_SLOTS>::new(), body)
    }

    /// As [`scope`](Self::scope), with an arena of any size for what is spawned. It may be shared
    /// with other scopes.
    pub fn scope_in<'scope, const SLOTS: usize, R>(
        self,
        arena: &Arena<SLOTS>,
        body: impl FnOnce(&Scope<'scope, M, CORES, JOBS>) -> R,
    ) -> R {
        in_scope(self.0.registry(), Some(self.0), arena.slots(), body)
    }

    /// Spawns a closure that nobody waits for: onto this worker's own deque. If the pool has no
    /// room for it, it is run at once, within this call: one that spawns itself needs
    /// [`try_spawn`](Self::try_spawn).
    pub fn spawn(self, closure: impl FnOnce(Worker<'_, M, CORES, JOBS>) + Send + 'static) {
        spawn::by_worker(self, closure);
    }

    /// As [`spawn`](Self::spawn), and hands the closure back if there is no room for it.
    ///
    /// # Errors
    /// [`SpawnError`] with [`SpawnErrorReason::Full`](super::SpawnErrorReason::Full).
    pub fn try_spawn<F>(self, closure: F) -> Result<(), SpawnError<F>>
    where
        F: FnOnce(Worker<'_, M, CORES, JOBS>) + Send + 'static,
    {
        spawn::try_by_worker(self, closure)
    }

    /// Runs one job from anywhere in the pool, if there is one. For a job that has to wait for
    /// something that the pool does not know of.
    pub fn yield_now(self) -> bool {
        self.0.yield_now()
    }

    /// Has an operation run when every [delay](super::SpinPool::delay) that is under way now has
    /// ended: to free what was taken out of others' reach, for instance. This worker runs it when
    /// it next searches for work; if it leaves before, another one does.
    ///
    /// A worker that sleeps runs nothing: if a delay lasts until then, the operation is run when
    /// something else has woken the worker.
    ///
    /// # Panics
    /// In an operation. There it must not be called.
    pub fn schedule(self, operation: impl IntoOperation) {
        self.0.schedule(operation);
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize> Clone for Worker<'_, M, CORES, JOBS> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M: Machine, const CORES: usize, const JOBS: usize> Copy for Worker<'_, M, CORES, JOBS> {}

impl<M: Machine, const CORES: usize, const JOBS: usize> fmt::Debug for Worker<'_, M, CORES, JOBS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Worker").field(&self.index()).finish()
    }
}
