//! What a deadlock handler receives.

use std::fmt;

use crate::blocking::state::{PoolState, WorkerStatus};

/// A deadlock: every worker of a pool is blocked, asleep or absent, at least one is blocked, and no
/// job is queued that an unblocked worker may run.
///
/// Passed to the [deadlock handler](crate::ThreadPoolBuilder::deadlock_handler). `{}` prints a line
/// and the table of the workers.
///
/// # Examples
/// A handler that prints the report, and lets another thread break the deadlock:
/// ```
/// use std::sync::{Mutex, mpsc};
///
/// let (sender, reports) = mpsc::channel();
/// let sender = Mutex::new(sender);
/// let pool = pool_std::ThreadPoolBuilder::new()
///     .num_threads(1)
///     .deadlock_handler(move |report| {
///         eprintln!("{report}");
///         sender.lock().unwrap().send(report.clone()).unwrap();
///     })
///     .build()?;
/// let (answer, question) = mpsc::channel();
/// std::thread::scope(|threads| {
///     threads.spawn(move || {
///         let report = reports.recv().unwrap();
///         let labels: Vec<_> = report.blocked().filter_map(|worker| worker.label()).collect();
///         assert_eq!(labels, ["an answer"]);
///         answer.send(42).unwrap();
///     });
///     // Blocks the only worker of the pool.
///     let receive = move || pool_std::blocking("an answer", |_| question.recv());
///     assert_eq!(pool.install(receive), Ok(42));
/// });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct DeadlockReport {
    state: PoolState,
}

impl DeadlockReport {
    pub(crate) fn new(state: PoolState) -> Self {
        Self { state }
    }

    /// Returns the table of all workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .deadlock_handler(|report| eprintln!("{}", report.state()))
    ///     .build()?;
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> &PoolState {
        &self.state
    }

    /// Returns what each worker is doing, in order of their numbers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .deadlock_handler(|report| eprintln!("{} workers wait", report.workers().len()))
    ///     .build()?;
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn workers(&self) -> &[WorkerStatus] {
        self.state.workers()
    }

    /// Returns the blocked workers, of which there is at least one.
    pub fn blocked(&self) -> impl Iterator<Item = &WorkerStatus> {
        self.state.blocked()
    }

    /// Returns the workers that are asleep.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .deadlock_handler(|report| eprintln!("{} workers sleep", report.asleep().count()))
    ///     .build()?;
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn asleep(&self) -> impl Iterator<Item = &WorkerStatus> {
        self.state.asleep()
    }
}

impl fmt::Display for DeadlockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocked, workers) = (self.blocked().count(), self.workers().len());
        writeln!(
            f,
            "deadlock: {blocked} of {workers} workers blocked, none active"
        )?;
        fmt::Display::fmt(&self.state, f)
    }
}

/// The table in the alternate form; otherwise one line.
impl fmt::Debug for DeadlockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.debug("DeadlockReport", self, f)
    }
}
