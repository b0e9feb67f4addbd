//! The way in for cores that are no workers.

use super::{
    SpinPool,
    error::{SpawnError, SpawnErrorReason},
    worker::Worker,
};
use crate::machine::Machine;

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<M, CORES, JOBS> {
    /// Runs a closure on one of the workers and waits for it, spinning: the way in for cores that
    /// are no workers. On a worker, the closure is run at once.
    ///
    /// Waits as long as no core is a worker.
    ///
    /// # Panics
    /// If the pool has ended; [`try_install`](Self::try_install) does not.
    pub fn install<R: Send>(
        &'static self,
        closure: impl FnOnce(Worker<'_, M, CORES, JOBS>) -> R + Send,
    ) -> R {
        let _reference = self.hold();
        self.registry()
            .in_worker(|worker, _| closure(Worker(worker)))
    }

    /// As [`install`](Self::install), and hands the closure back if the pool has ended.
    ///
    /// # Errors
    /// [`SpawnError`] with [`SpawnErrorReason::Ended`].
    pub fn try_install<F, R>(&'static self, closure: F) -> Result<R, SpawnError<F>>
    where
        F: FnOnce(Worker<'_, M, CORES, JOBS>) -> R + Send,
        R: Send,
    {
        let Some(_reference) = self.try_hold() else {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        };
        Ok(self
            .registry()
            .in_worker(|worker, _| closure(Worker(worker))))
    }

    /// Keeps the pool from ending.
    ///
    /// # Panics
    /// If it has ended.
    pub(crate) fn hold(&'static self) -> Held<M, CORES, JOBS> {
        self.try_hold().expect("the pool has ended")
    }

    pub(crate) fn try_hold(&'static self) -> Option<Held<M, CORES, JOBS>> {
        self.registry().try_add_reference().then(|| Held(self))
    }
}

/// One of a pool's references.
pub(crate) struct Held<M: Machine, const CORES: usize, const JOBS: usize>(
    &'static SpinPool<M, CORES, JOBS>,
);

impl<M: Machine, const CORES: usize, const JOBS: usize> Drop for Held<M, CORES, JOBS> {
    fn drop(&mut self) {
        self.0.registry().remove_reference();
    }
}
