//! What can go wrong.

use core::fmt;

use pool_core::UnknownWorker;

/// A core could not become a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The pool has no such worker.
    UnknownWorker(UnknownWorker),
    /// Another core is this worker.
    Taken,
    /// This core is a worker already.
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

/// A worker could not be asked to leave.
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

/// A pool could not be restarted: it has not ended, or some of its workers have not left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StillRunning;

impl fmt::Display for StillRunning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the pool has not ended, or some of its workers have not left")
    }
}

impl core::error::Error for StillRunning {}

/// A closure could not be spawned; it is handed back.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SpawnError<F> {
    /// The closure.
    pub closure: F,
    /// Why.
    pub reason: SpawnErrorReason,
}

/// Why something could not be spawned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpawnErrorReason {
    /// As many closures as the pool has room for have been spawned and not yet begun.
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
