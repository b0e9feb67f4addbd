//! The errors of building a pool and of waiting for its end.

use std::{error::Error, ffi::OsString, fmt, io};

/// What an error says in a child of the process that has built the pool.
const FORKED: &str = "the pool belongs to the parent of this process";

/// The error of a pool that could not be built. Threads that were started for it exit.
///
/// # Examples
/// ```
/// use pool_std::{BuildError, ThreadPoolBuilder};
///
/// let error = ThreadPoolBuilder::new().num_threads(70_000).build().unwrap_err();
/// assert!(matches!(error, BuildError::TooManyThreads { requested: 70_000, .. }));
/// println!("{error}");
/// ```
#[doc(alias = "ThreadPoolBuildError")]
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// More threads than the pool can count.
    TooManyThreads {
        /// The requested number.
        requested: usize,
        /// The maximum.
        maximum: usize,
    },
    /// More [events](crate::ThreadPoolBuilder::trace) per worker than a trace can have.
    #[cfg(feature = "trace")]
    TooManyEvents {
        /// The requested number.
        requested: usize,
        /// The maximum.
        maximum: usize,
    },
    /// No active worker, or more than the pool has.
    ActiveWorkers(ActiveWorkersError),
    /// A stack too small to run a worker on.
    StackTooSmall {
        /// The requested size, in bytes.
        requested: usize,
        /// The smallest possible size, in bytes.
        minimum: usize,
    },
    /// A thread name that is invalid because it contains a NUL.
    ThreadName {
        /// The number of the worker, or of the spare, whose name it is.
        index: usize,
        /// The name.
        name: String,
    },
    /// The system refused a thread, or the spawn handler did, or the spawn handler dropped its
    /// [`ThreadBuilder`](crate::ThreadBuilder) unrun.
    Spawn {
        /// The number of the thread: that of its worker, or, for a spare or the thread that follows
        /// the processors, a number after those of the workers.
        index: usize,
        /// The reason.
        source: io::Error,
    },
    /// An environment variable has an invalid value. The page "Environment variables" of the book,
    /// `docs/src/environment.md`, lists all variables and their values in one table.
    EnvironmentVariable {
        /// The name of the variable.
        variable: &'static str,
        /// Its value.
        value: OsString,
        /// The valid values.
        choices: Vec<&'static str>,
    },
    /// The pool's [driver](crate::ThreadPoolBuilder::driver) could not be created or started. The
    /// driver of `pool-io` returns this if the system has no `io_uring`, a filter forbids it, or
    /// the process has too many open files or threads.
    Driver {
        /// The reason.
        source: io::Error,
    },
    /// A [seeded](crate::ThreadPoolBuilder::seeded) pool cannot have a driver, because a driver
    /// gives the workers its own parkers.
    SeededDriver,
    /// The global pool exists already.
    GlobalPoolAlreadyInitialized,
    /// The global pool is [forbidden](crate::forbid_global_pool) in this process.
    GlobalPoolForbidden,
    /// The thread that was to become a worker is already one.
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
            #[cfg(feature = "trace")]
            Self::TooManyEvents { requested, maximum } => write!(
                f,
                "{requested} events per worker requested, at most {maximum} are possible"
            ),
            Self::ActiveWorkers(error) => error.fmt(f),
            Self::StackTooSmall { requested, minimum } => write!(
                f,
                "a stack of {requested} bytes is too small for a worker, which needs {minimum}"
            ),
            Self::ThreadName { index, name } => {
                write!(f, "the name of thread {index} has a NUL in it: {name:?}")
            }
            Self::Spawn { index, source } => {
                write!(
                    f,
                    "the thread of worker {index} could not be started: {source}"
                )
            }
            Self::EnvironmentVariable {
                variable,
                value,
                choices,
            } => write!(
                f,
                "the environment variable {variable} is `{}`, but must be {}",
                value.display(),
                choices.join(" or ")
            ),
            Self::Driver { source } => {
                write!(f, "the driver of the pool could not be started: {source}")
            }
            Self::SeededDriver => f.write_str("a seeded pool cannot have a driver"),
            Self::GlobalPoolAlreadyInitialized => {
                f.write_str("the global thread pool has already been initialized")
            }
            Self::GlobalPoolForbidden => {
                f.write_str("the global thread pool is forbidden in this process")
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
            Self::Spawn { source, .. } | Self::Driver { source } => Some(source),
            _ => None,
        }
    }
}

/// The error of [`set_active_workers`](crate::ThreadPool::set_active_workers).
///
/// # Examples
/// ```
/// use pool_std::{ActiveWorkersError, ThreadPoolBuilder};
///
/// let pool = ThreadPoolBuilder::new().num_threads(2).build()?;
/// let error = pool.set_active_workers(3).unwrap_err();
/// assert_eq!(error, ActiveWorkersError::OutOfRange { requested: 3, maximum: 2 });
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActiveWorkersError {
    /// The number is 0, or more than the pool has.
    OutOfRange {
        /// The requested number.
        requested: usize,
        /// The number of workers.
        maximum: usize,
    },
    /// The caller is a deadlock handler, or an acquire or release handler, of a pool.
    InHandler,
    /// The pool belongs to a parent of this process, which has forked. This process has none of the
    /// pool's threads.
    Forked,
}

impl fmt::Display for ActiveWorkersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { requested, maximum } => write!(
                f,
                "{requested} active workers requested, from 1 to {maximum} are possible"
            ),
            Self::InHandler => f.write_str("a handler cannot change the number of active workers"),
            Self::Forked => f.write_str(FORKED),
        }
    }
}

impl Error for ActiveWorkersError {}

/// The error of waiting for the end of a pool: the caller cannot wait, or has timed out.
///
/// # Examples
/// ```
/// use std::{sync::mpsc, time::Duration};
/// use pool_std::{ShutdownError, ThreadPoolBuilder};
///
/// let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
/// let (sender, receiver) = mpsc::channel::<()>();
/// pool.spawn(move || _ = receiver.recv());
/// let error = pool.shutdown_timeout(Duration::from_millis(1)).unwrap_err();
/// assert_eq!(error, ShutdownError::TimedOut);
/// // The pool ends when its last job does.
/// drop(sender);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShutdownError {
    /// The caller would wait for itself: it is one of the pool's own workers, or a thread that
    /// a [driver](crate::driver) has started, or is in the body of a scope of the pool. The pool
    /// still ends when its work is done.
    FromWorker,
    /// The timeout has elapsed. The pool still ends when its work is done.
    TimedOut,
    /// The pool belongs to a parent of this process, which has forked. This process has none of the
    /// pool's threads.
    Forked,
}

impl fmt::Display for ShutdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromWorker => f.write_str("a worker cannot wait for its own pool to end"),
            Self::TimedOut => f.write_str("the pool has not ended in time"),
            Self::Forked => f.write_str(FORKED),
        }
    }
}

impl Error for ShutdownError {}

/// The error of [`wait_idle`](crate::ThreadPool::wait_idle): the caller cannot wait.
///
/// # Examples
/// ```
/// use pool_std::{ThreadPoolBuilder, WaitIdleError};
///
/// let pool = ThreadPoolBuilder::new().num_threads(1).build()?;
/// // The job that waits would never end.
/// let error = pool.install(|| pool.wait_idle()).unwrap_err();
/// assert_eq!(error, WaitIdleError::FromWorker);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitIdleError {
    /// The caller would wait for itself: it is one of the pool's own workers, or a thread that
    /// a [driver](crate::driver) has started, or is in the body of a scope of the pool.
    FromWorker,
    /// The pool belongs to a parent of this process, which has forked. This process has none of the
    /// pool's threads.
    Forked,
    /// The pool was not idle in time.
    TimedOut,
}

impl fmt::Display for WaitIdleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FromWorker => {
                f.write_str("a worker cannot wait until its own pool has nothing to do")
            }
            Self::Forked => f.write_str(FORKED),
            Self::TimedOut => f.write_str("the pool still has work to do"),
        }
    }
}

impl Error for WaitIdleError {}
