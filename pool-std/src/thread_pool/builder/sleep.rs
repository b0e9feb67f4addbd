//! The settings that determine how workers fall asleep, and how they are woken.

use std::sync::Arc;

use pool_core::TooManyWorkers;

use super::ThreadPoolBuilder;
use crate::{
    driver::Drivers,
    fence::ProcessBarrier,
    parker::{CustomParker, OsParker},
    sleep::{PoolSleep, SleepKind},
    system,
    thread_pool::{crowd::Crowd, environment, error::BuildError, parts::PoolParts},
};

impl<S> ThreadPoolBuilder<S> {
    /// Sets the sleep protocol, which decides when a worker sleeps and which worker is woken.
    ///
    /// Without this call, the environment variable `POOL_STD_SLEEP` is used if it is set and not
    /// empty: the [name](SleepKind::name) of a protocol. Otherwise the default is used, which suits
    /// most programs. For an unknown name, building the pool returns an
    /// [error](BuildError::EnvironmentVariable).
    ///
    /// # Examples
    /// ```
    /// use pool_std::{SleepKind, ThreadPoolBuilder};
    ///
    /// let pool = ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .sleep(SleepKind::Jec)
    ///     .build()?;
    /// assert_eq!(pool.sleep_kind(), SleepKind::Jec);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn sleep(mut self, kind: SleepKind) -> Self {
        self.settings.sleep = Some(kind);
        self
    }

    /// Sets whether each worker that falls asleep ensures that it overlooks no job, not even one
    /// that another worker queues for a [`join`](crate::join()) at that very moment. The default is
    /// false.
    ///
    /// Spawned jobs and calls from outside are never overlooked, regardless of this setting. The
    /// second half of a `join` is queued without a fence, so a worker that is falling asleep may
    /// miss it in a rare race. Then that job waits until the next job is announced, or until its
    /// own worker takes it. With `true`, the worker that falls asleep first executes a process-wide
    /// fence, if the system has one: [`ProcessBarrier`]. A `join` costs the same either way.
    ///
    /// Use it if a long first half must not run alone while other workers are idle. The fence takes
    /// microseconds and interrupts every running thread of the process, each time a worker falls
    /// asleep after others have been working. The decision page "Process fences before sleep, on
    /// request" has measurements.
    ///
    /// The build asks the system for such fences, which may take some ten milliseconds in a process
    /// with several threads. If the system refuses them, then or later, the pool behaves as without
    /// this option. [`ThreadPool::overlooks_no_jobs`](crate::ThreadPool::overlooks_no_jobs) returns
    /// whether it has them.
    ///
    /// Without this call, the environment variable `POOL_STD_OVERLOOK_NO_JOBS` is used if it is 0
    /// or 1. For any other nonempty value, building the pool returns an
    /// [error](BuildError::EnvironmentVariable).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .overlook_no_jobs(true)
    ///     .build()?;
    /// if !pool.overlooks_no_jobs() {
    ///     println!("the system has no fence for all threads of a process");
    /// }
    /// assert_eq!(pool.join(|| 1, || 2), (1, 2));
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[doc(alias = "membarrier")]
    #[doc(alias = "strong")]
    #[must_use]
    pub fn overlook_no_jobs(mut self, overlook_no_jobs: bool) -> Self {
        self.settings.overlook_no_jobs = Some(overlook_no_jobs);
        self
    }

    /// Returns the protocol of a pool with these numbers of workers and processors.
    pub(super) fn sleep_protocol(
        &self,
        parts: &PoolParts,
        num_threads: usize,
        processors: Option<usize>,
    ) -> Result<PoolSleep, BuildError> {
        let parkers = (0..num_threads).map(|worker| self.worker_parker(parts, worker));
        if let Some(membership) = &parts.turns {
            return Ok(PoolSleep::seeded(membership.clone(), parkers));
        }
        let kind = match self.settings.sleep {
            Some(kind) => kind,
            None => environment::sleep_kind()?.unwrap_or_default(),
        };
        let policy = match self.settings.idle_policy {
            Some(policy) => policy,
            None => environment::idle_policy()?.unwrap_or_default(),
        };
        let policy = match processors {
            Some(processors) => {
                let together = kind.workers_counted_together(num_threads);
                let share = processors.saturating_mul(together) / num_threads.max(1);
                policy.for_processors(together, share.max(1))
            }
            None => policy,
        };
        PoolSleep::new(kind, parkers, policy).map_err(|TooManyWorkers { requested, maximum }| {
            BuildError::TooManyThreads { requested, maximum }
        })
    }

    fn worker_parker(&self, parts: &PoolParts, worker: usize) -> OsParker {
        if let Some(membership) = &parts.turns {
            return membership.parker(worker);
        }
        let driver = parts.drivers.first();
        match driver.and_then(|driver| driver.parker(worker)) {
            Some(parker) => OsParker::custom(CustomParker::new(parker)),
            None => OsParker::in_crowd(self.settings.parker, parts.crowd.clone()),
        }
    }

    /// Returns what the pool knows of its workers and processors, if the system says how much
    /// processor time they use.
    pub(super) fn crowd(
        drivers: &Drivers,
        num_threads: usize,
        processors: Option<usize>,
    ) -> Option<Arc<Crowd>> {
        // A worker that is alone has no other one to wake.
        let is_possible =
            num_threads > 1 && system::process_time().is_some() && drivers.first().is_none();
        let processors = processors.filter(|_| is_possible)?;
        Some(Crowd::new(num_threads, processors))
    }

    /// Asks the system for process fences, or has a worker ask it later. Returns whether workers
    /// that fall asleep are to execute them.
    pub(super) fn prepare_fences(&self) -> Result<bool, BuildError> {
        let overlooks_no_jobs = match self.settings.overlook_no_jobs {
            Some(overlook_no_jobs) => overlook_no_jobs,
            None => environment::overlook_no_jobs()?.unwrap_or(false),
        };
        let is_allowed = environment::membarrier()?.unwrap_or(true);
        if overlooks_no_jobs || !is_allowed {
            // Now, however long it takes: the first worker that falls asleep must have the fence.
            // If the environment forbids it, this only notes that.
            let _is_there = ProcessBarrier::is_by_system();
        } else {
            ProcessBarrier::prepare();
        }
        Ok(overlooks_no_jobs)
    }
}
