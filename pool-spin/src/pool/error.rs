//! The errors of a pool.

use core::fmt;

use pool_core::UnknownWorker;

/// The reason why a core could not become a worker.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, RunError, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
///
/// assert!(matches!(POOL.run_worker(2), Err(RunError::UnknownWorker(_))));
/// let nested = POOL.run_with(0, |_| POOL.run_worker(1)).unwrap();
/// assert_eq!(nested, Err(RunError::AlreadyWorker));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The pool has no such worker.
    UnknownWorker(UnknownWorker),
    /// Another core is this worker.
    Taken,
    /// This core is already a worker.
    AlreadyWorker,
    /// The pool has ended.
    Ended,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWorker(error) => error.fmt(f),
            Self::Taken => f.write_str("another core is this worker"),
            Self::AlreadyWorker => f.write_str("this core is a worker already"),
            Self::Ended => f.write_str("the pool has ended"),
        }
    }
}

impl core::error::Error for RunError {}

/// The reason why a worker could not be asked to leave.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, ReleaseError, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 1, 16>> = SpinPool::new();
///
/// assert_eq!(POOL.release_worker(0), Err(ReleaseError::Absent), "no core is this worker yet");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The pool has no such worker.
    UnknownWorker(UnknownWorker),
    /// No core is this worker now.
    Absent,
}

impl fmt::Display for ReleaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownWorker(error) => error.fmt(f),
            Self::Absent => f.write_str("no core is this worker now"),
        }
    }
}

impl core::error::Error for ReleaseError {}

/// The error of a restart: the pool has not ended, or some of its workers have not left.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, StillRunning, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 1, 16>> = SpinPool::new();
///
/// assert_eq!(POOL.restart(), Err(StillRunning), "it has not ended");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StillRunning;

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pool has not ended, or some of its workers have not left")
    }
}

impl core::error::Error for StillRunning {}

/// The error of a closure that could not be spawned or installed. It returns the closure.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 1, 16>> = SpinPool::new();
///
/// POOL.end();
/// let error = POOL.spawn(|_core| ()).unwrap_err();
/// let _the_closure = error.closure;
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SpawnError<F> {
    /// The closure.
    pub closure: F,
    /// The reason.
    pub reason: SpawnErrorReason,
}

/// The reason why a closure or a task could not be spawned.
///
/// # Examples
/// ```
/// use pool_spin::{Cores, SpawnErrorReason, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 1, 16>> = SpinPool::new();
///
/// POOL.end();
/// let error = POOL.spawn(|_core| ()).unwrap_err();
/// assert_eq!(error.reason, SpawnErrorReason::Ended);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorReason {
    /// The pool has no room: each of its cells has a closure that was spawned and has not begun.
    Full,
    /// The task has been spawned and has not yet begun.
    AlreadySpawned,
    /// The pool has ended.
    Ended,
}

impl<F> fmt::Debug for SpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnError")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<F> fmt::Display for SpawnError<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl fmt::Display for SpawnErrorReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the pool has no room for another spawned closure",
            Self::AlreadySpawned => "the task has been spawned and has not yet begun",
            Self::Ended => "the pool has ended",
        })
    }
}

impl<F> core::error::Error for SpawnError<F> {}
impl core::error::Error for SpawnErrorReason {}
