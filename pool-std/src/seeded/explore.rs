//! A program under many schedules, and a short one under which it fails.

use std::{sync::Arc, thread, time::Duration};

use super::{
    Schedule, Turns,
    failed::{ExploreError, FailedProgram},
    panics::into_message,
    shrink::shrink,
};
use crate::{
    BuildError, ShutdownError, ThreadPool, ThreadPoolBuilder, platform::WorkerThread,
    thread_pool::environment,
};

/// Runs a program in [seeded](ThreadPoolBuilder::seeded) pools, once for each seed.
///
/// The program uses the free functions, such as [`join`](crate::join()), or builds its own pools.
/// It is called on a worker of a pool of 3. It fails if it or a job that it has spawned panics, or
/// if it hangs: no worker can continue. Its behavior must depend only on the schedule: not on time,
/// on other threads, or on the state that an earlier run has left.
///
/// If the environment variable `POOL_STD_SEED` is set, the program runs under that schedule only:
/// once if it passes, and again if it fails, to shorten the schedule.
///
/// [`Explorer`] has settings, and returns the failure instead of panicking.
///
/// # Panics
/// If the program fails. The message contains the first seed with which it fails, a list of
/// switches between workers from which none can be omitted, and the variable that repeats the
/// failure.
///
/// To find this list, the program is run again up to 200 times. Each run that fails prints its
/// panic before the final message.
///
/// # Examples
/// A sum that forgets additions: the lock is released between the read and the write.
/// ```should_panic
/// use std::sync::Mutex;
///
/// fn slow_increment(number: u32) -> u32 {
///     pool_std::join(|| number + 1, || ()).0
/// }
///
/// pool_std::explore(0..1000, || {
///     let sum = Mutex::new(0);
///     let add = || {
///         let before = *sum.lock().unwrap();
///         let after = slow_increment(before);
///         *sum.lock().unwrap() = after;
///     };
///     pool_std::join(add, add);
///     assert_eq!(sum.into_inner().unwrap(), 2);
/// });
/// ```
pub fn explore<F>(seeds: impl IntoIterator<Item = u64>, program: F)
where
    F: Fn() + Send + Sync + 'static,
{
    let explored = Explorer::new().run(seeds, program);
    explored.unwrap_or_else(|error| panic!("{error}"));
}

/// Runs programs under many schedules, with settings. See [`explore`].
///
/// # Examples
/// ```
/// use pool_std::{ExploreError, Explorer};
///
/// let explorer = Explorer::new().num_threads(2);
/// explorer.run(0..20, || assert_eq!(pool_std::join(|| 1, || 2), (1, 2)))?;
///
/// let failed = explorer.run(0..20, || {
///     pool_std::join(|| (), || panic!("always"));
/// });
/// match failed {
///     Err(ExploreError::Failed(failed)) => assert_eq!(failed.schedule().seed(), 0),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), ExploreError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Explorer {
    num_threads: usize,
    hang_after: Duration,
    attempts: usize,
}

impl Default for Explorer {
    fn default() -> Self {
        Self::new()
    }
}

/// How often the exploring thread checks whether a program hangs.
const LOOK: Duration = Duration::from_millis(20);

impl Explorer {
    /// Creates an explorer with pools of 3 workers.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            num_threads: 3,
            hang_after: Duration::from_secs(1),
            attempts: 200,
        }
    }

    /// Sets the number of workers. The default is 3: enough for one worker to act while two others
    /// wait for each other.
    #[must_use]
    pub const fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Sets how long all workers must be unable to continue before the program counts as hanging.
    /// The default is one second. A program that waits for its own threads needs more.
    ///
    /// If the system does not report whether a thread is waiting, a worker that computes for 10
    /// seconds more than this also counts as hanging.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    ///
    /// let explorer = pool_std::Explorer::new().hang_after(Duration::from_secs(10));
    /// explorer.run(0..3, || _ = pool_std::join(|| (), || ()))?;
    /// # Ok::<(), pool_std::ExploreError>(())
    /// ```
    #[must_use]
    pub const fn hang_after(mut self, time: Duration) -> Self {
        self.hang_after = time;
        self
    }

    /// Sets the maximum number of times that a failing program is run again to find a schedule with
    /// fewer switches. The default is 200; with 0, the schedule is returned as it was found.
    ///
    /// # Examples
    /// ```
    /// let explorer = pool_std::Explorer::new().attempts_to_shrink(20);
    /// let result = explorer.run(0..3, || assert_ne!(pool_std::join(|| 1, || 2), (1, 2)));
    /// assert!(matches!(result, Err(pool_std::ExploreError::Failed(_))));
    /// ```
    #[must_use]
    pub const fn attempts_to_shrink(mut self, attempts: usize) -> Self {
        self.attempts = attempts;
        self
    }

    /// Runs a program as [`explore`] does.
    ///
    /// # Errors
    /// Returns [`ExploreError::Failed`] if the program fails, and the other errors if it could not
    /// be run. The threads of a program that hangs are not stopped.
    pub fn run<F>(
        &self,
        seeds: impl IntoIterator<Item = u64>,
        program: F,
    ) -> Result<(), ExploreError>
    where
        F: Fn() + Send + Sync + 'static,
    {
        let program: Program = Arc::new(program);
        // Builders read this environment variable, too, and their error says which values it may
        // have.
        if let Some(schedule) = environment::schedule()? {
            return self.run_under(schedule, &program);
        }
        for seed in seeds {
            self.run_under(seed.into(), &program)?;
        }
        Ok(())
    }

    /// Runs a program under one schedule, for example one that an earlier run has found.
    ///
    /// # Errors
    /// The same as those of [`run`](Self::run).
    ///
    /// # Examples
    /// ```
    /// // As a failure has printed it.
    /// let schedule = "17".parse().expect("a seed");
    /// pool_std::Explorer::new().replay(schedule, || _ = pool_std::join(|| (), || ()))?;
    /// # Ok::<(), pool_std::ExploreError>(())
    /// ```
    pub fn replay<F>(&self, schedule: Schedule, program: F) -> Result<(), ExploreError>
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.run_under(schedule, &(Arc::new(program) as Program))
    }

    fn run_under(&self, schedule: Schedule, program: &Program) -> Result<(), ExploreError> {
        // SAFETY: 1. the reference is only compared.
        if unsafe { WorkerThread::current() }.is_some() {
            return Err(ExploreError::OnWorker);
        }
        let seed = schedule.seed();
        let first = self.attempt(schedule, program)?;
        let Some(failure) = first.failure else {
            return Ok(());
        };
        let found = first.switches.len();
        let mut failed = FailedProgram {
            schedule: Schedule::new(seed, first.switches),
            failure,
            choices: first.choices,
            found,
            has_repeated: None,
        };
        if self.attempts > 0 {
            // From now on, the schedule lists the switches that the generator chose.
            let mut run = |switches: Vec<(u64, usize)>| {
                let run = self.attempt(Schedule::new(seed, switches), program).ok()?;
                let failure = run.failure?;
                failed.failure = failure;
                failed.choices = run.choices;
                Some(run.switches)
            };
            let switches = failed.schedule.switches().unwrap_or_default().to_vec();
            match shrink(switches, self.attempts, &mut run) {
                Some(switches) => {
                    failed.schedule = Schedule::new(seed, switches);
                    failed.has_repeated = Some(true);
                }
                None => failed.has_repeated = Some(false),
            }
        }
        Err(ExploreError::Failed(failed))
    }

    /// Runs a program once.
    fn attempt(&self, schedule: Schedule, program: &Program) -> Result<Run, BuildError> {
        let turns = Turns::new(schedule, true);
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.num_threads)
            .with_turns(turns.clone())
            .build()?;
        let result = self.run_in(&pool, &turns, program);
        let (failure, (choices, switches)) = turns.take_outcome(result);
        Ok(Run {
            failure,
            choices,
            switches,
        })
    }

    /// Runs a program in a pool, and waits until all jobs that it has spawned have ended.
    ///
    /// # Errors
    /// Describes how the program failed.
    fn run_in(
        &self,
        pool: &ThreadPool,
        turns: &Arc<Turns>,
        program: &Program,
    ) -> Result<(), String> {
        let hangs = || {
            let report = turns.stuck(self.hang_after)?;
            Some(format!("no worker can go on:{report}"))
        };
        let program = program.clone();
        let turns_of_job = turns.clone();
        let mut job = pool.spawn_handle(move || {
            let _record = RecordOnPanic(&turns_of_job);
            program();
        });
        while !job.wait_timeout(LOOK) {
            if let Some(report) = hangs() {
                return Err(report);
            }
        }
        job.join().map_err(into_message)?;
        while let Err(error) = pool.shutdown_timeout(LOOK) {
            if !matches!(error, ShutdownError::TimedOut) {
                return Err(error.to_string());
            }
            if let Some(report) = hangs() {
                return Err(report);
            }
        }
        Ok(())
    }
}

type Program = Arc<dyn Fn() + Send + Sync>;

/// Records the schedule if the program panics.
struct RecordOnPanic<'t>(&'t Turns);

impl Drop for RecordOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.note_panic_of_program();
        }
    }
}

/// The result of a program under one schedule.
struct Run {
    /// How the program failed, if it did.
    failure: Option<String>,
    choices: u64,
    switches: Vec<(u64, usize)>,
}
