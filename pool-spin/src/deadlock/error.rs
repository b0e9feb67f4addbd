//! The error of a wait.

use core::fmt;

use pool_core::accounting::NotActive;

/// The reason why a worker could not wait for a [`Completion`](super::Completion).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// Another worker waits for it, or its wait has not returned although the event has come.
    Taken,
    /// The completion is for the workers of another pool.
    OtherPool,
    /// The worker is already blocked, because it is in
    /// [`Worker::blocking`](crate::Worker::blocking).
    NotActive(NotActive),
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken => f.write_str("another worker waits for the completion"),
            Self::OtherPool => f.write_str("the completion is for another pool"),
            Self::NotActive(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WaitError {}
