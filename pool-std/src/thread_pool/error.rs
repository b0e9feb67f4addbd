//! What can go wrong.

use std::{error::Error, fmt, io};

/// A pool could not be built. Threads of it that were started end.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// More threads than the pool can count.
    TooManyThreads {
        /// How many were asked for.
        requested: usize,
        /// How many there can be.
        maximum: usize,
    },
    /// A stack too small to run a worker on.
    StackTooSmall {
        /// The size that was asked for, in bytes.
        requested: usize,
        /// The smallest possible size, in bytes.
        minimum: usize,
    },
    /// The system refused a thread, or the spawn handler did.
    Spawn {
        /// The number of the worker whose thread it was.
        index: usize,
        /// Why.
        source: io::Error,
    },
    /// There is a global pool already.
    GlobalPoolAlreadyInitialized,
    /// The thread that was to become a worker is one already.
    CurrentThreadAlreadyInPool,
}

impl BuildError {
    /// Whether the system has no threads at all.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Spawn { source, .. } if source.kind() == io::ErrorKind::Unsupported)
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyThreads { requested, maximum } => {
                write!(
                    f,
                    "{requested} threads requested, at most {maximum} are possible"
                )
            }
            Self::StackTooSmall { requested, minimum } => write!(
                f,
                "a stack of {requested} bytes is too small for a worker, which needs {minimum}"
            ),
            Self::Spawn { index, source } => {
                write!(
                    f,
                    "the thread of worker {index} could not be started: {source}"
                )
            }
            Self::GlobalPoolAlreadyInitialized => {
                f.write_str("the global thread pool has already been initialized")
            }
            Self::CurrentThreadAlreadyInPool => {
                f.write_str("the current thread is already part of another thread pool")
            }
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Spawn { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A pool could not be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShutdownError {
    /// It was asked for on one of the pool's own workers, which would wait for itself. The pool
    /// ends nevertheless, when its work is done.
    FromWorker,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromWorker => f.write_str("a worker cannot wait for its own pool to end"),
        }
    }
}

impl Error for ShutdownError {}
