//! The setting that makes a pool seeded, and how the first of its workers gets its turn.

use std::sync::Arc;

use super::ThreadPoolBuilder;
use crate::{
    platform::Registry,
    seeded::{Hold, Schedule, Turns, current_turns},
    sleep::SleepKind,
    thread_pool::{environment, error::BuildError},
};

impl<S> ThreadPoolBuilder<S> {
    /// Makes the pool's schedule depend on a seed.
    ///
    /// One worker runs at a time, and a random generator chooses which worker continues when a
    /// worker queues a job, looks for one, has found one, or sleeps. So the order of the jobs
    /// depends only on the seed, and not on the machine, its load, or how the program was compiled.
    /// Jobs, joins, scopes and latches are the same as in any other pool.
    ///
    /// This is for tests: [`explore`](crate::explore) tries many seeds. [This
    /// page](crate::guide::seeded) lists what else an order may depend on.
    ///
    /// Without [`num_threads`](Self::num_threads), the pool has 4 workers on every machine, unless
    /// the environment sets another number. A pool that is built in a job of a seeded pool takes
    /// turns with that pool, whatever its builder says.
    ///
    /// Without this call, the environment variable `POOL_STD_SEED` is used if it is set and not
    /// empty. If its value is not a [`Schedule`], building the pool returns an
    /// [error](BuildError::EnvironmentVariable).
    ///
    /// The pool has no guests and cannot have a [driver](Self::driver). Its workers nest up to 64
    /// jobs, unless [`max_nesting`](Self::max_nesting) is set, and do not check how much of their
    /// stacks is used.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let order = |seed: u64| {
    ///     let pool = pool_std::ThreadPoolBuilder::new().num_threads(3).seeded(seed).build()?;
    ///     let order = Mutex::new(Vec::new());
    ///     pool.scope(|scope| {
    ///         for number in 0..20 {
    ///             let order = &order;
    ///             scope.spawn(move |_| order.lock().unwrap().push(number));
    ///         }
    ///     });
    ///     Ok::<_, pool_std::BuildError>(order.into_inner().unwrap())
    /// };
    /// assert_eq!(order(1)?, order(1)?);
    /// assert_ne!(order(1)?, order(2)?);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[doc(alias = "deterministic")]
    #[must_use]
    pub fn seeded(mut self, schedule: impl Into<Schedule>) -> Self {
        self.settings.turns = Some(Turns::new(schedule.into(), false));
        self
    }

    /// Makes a seeded pool that takes part in these turns.
    pub(crate) fn with_turns(mut self, turns: Arc<Turns>) -> Self {
        self.settings.turns = Some(turns);
        self
    }

    /// Returns the turns in which the pool takes part, if it is seeded. Where a program is
    /// explored, panics of jobs go there unless the program handles them.
    pub(super) fn turns(&mut self) -> Result<Option<Arc<Turns>>, BuildError> {
        let turns = match current_turns().or_else(|| self.settings.turns.clone()) {
            Some(turns) => Some(turns),
            None if self.settings.sleep == Some(SleepKind::Seeded) => {
                Some(Turns::new(0.into(), false))
            }
            None => environment::schedule()?.map(|schedule| Turns::new(schedule, false)),
        };
        if turns.is_some() && self.settings.driver.is_some() {
            return Err(BuildError::SeededDriver);
        }
        let panic = &mut self.settings.handlers.panic;
        if panic.is_none() {
            *panic = turns.as_ref().and_then(Turns::panic_handler);
        }
        Ok(turns)
    }
}

/// Keeps the workers of a seeded pool from running before all of them are there.
pub(super) struct FirstTurn {
    /// None if the pool is built by a worker, which has the turn.
    hold: Option<Hold>,
}

impl FirstTurn {
    pub(super) fn prepare(registry: &Registry) -> Option<Self> {
        let membership = registry.data().turns.as_ref()?;
        let is_inside = membership.here().is_some();
        let hold = (!is_inside).then(|| membership.turns.hold());
        Some(Self { hold })
    }

    /// Waits until the workers are there, and lets them run, one at a time, until they have nothing
    /// to do.
    pub(super) fn give(self, registry: &Registry, may_be_late: bool) {
        let Some(membership) = &registry.data().turns else {
            return;
        };
        let turns = &membership.turns;
        turns.wait_for_arrivals(membership.members(registry.num_workers()), may_be_late);
        let is_outside = self.hold.is_some();
        drop(self);
        // An adopted thread has become a worker meanwhile, which has the turn.
        if is_outside && membership.here().is_none() {
            turns.settle();
        }
    }
}
