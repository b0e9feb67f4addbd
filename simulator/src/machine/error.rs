//! How a run fails.

use std::fmt;

use crate::cost::MS;

/// Why a run came to no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunError {
    /// All workers are parked, no wake-up is under way, and jobs are queued.
    LostWakeUp {
        /// The virtual time, in picoseconds.
        at: u64,
        /// How many workers there are.
        workers: usize,
    },
    /// No thread runs, none will be woken, and some have not ended.
    Stuck {
        /// The virtual time, in picoseconds.
        at: u64,
        /// The threads that have not ended, by their numbers.
        threads: Vec<usize>,
    },
    /// The run has reached [`Settings::limit`].
    TimeOut {
        /// The limit, in picoseconds.
        limit: u64,
    },
    /// The system had no memory for the stacks of so many threads.
    NoStack {
        /// How many threads were asked for.
        threads: usize,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LostWakeUp { at, workers } => write!(
                f,
                "lost wake-up: at {} us all {workers} workers are parked while jobs are queued",
                at / crate::cost::US
            ),
            Self::Stuck { at, threads } => write!(
                f,
                "stuck: at {} us no thread runs, and {} have not ended, thread {} among them",
                at / crate::cost::US,
                threads.len(),
                threads.first().copied().unwrap_or_default()
            ),
            Self::TimeOut { limit } => {
                write!(f, "no end within {} ms of virtual time", limit / MS)
            }
            Self::NoStack { threads } => {
                write!(
                    f,
                    "the system has no memory for the stacks of {threads} threads"
                )
            }
        }
    }
}

impl std::error::Error for RunError {}
