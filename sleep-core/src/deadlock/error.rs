//! What can be wrong with a mark.

use core::fmt;

use super::State;

/// A worker that is not active cannot be marked as blocked.
///
/// # Examples
/// ```
/// use sleep_core::deadlock::{NotActive, State};
///
/// let error = NotActive { worker: 3, state: State::Blocked };
/// assert_eq!(error.to_string(), "worker 3 is blocked, so it cannot be marked as blocked");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotActive {
    /// The number of the worker.
    pub worker: usize,
    /// What the worker is doing instead.
    pub state: State,
}

impl fmt::Display for NotActive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, state } = self;
        write!(
            f,
            "worker {worker} is {state}, so it cannot be marked as blocked"
        )
    }
}

impl core::error::Error for NotActive {}

/// The blocked section that a ticket names has ended.
///
/// # Examples
/// ```
/// use sleep_core::deadlock::NotBlocked;
///
/// let error = NotBlocked { worker: 3 };
/// assert_eq!(error.to_string(), "worker 3 is no longer blocked in that section");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotBlocked {
    /// The number of the worker.
    pub worker: usize,
}

impl fmt::Display for NotBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "worker {} is no longer blocked in that section",
            self.worker
        )
    }
}

impl core::error::Error for NotBlocked {}

/// More workers were to be unmarked than are blocked.
///
/// # Examples
/// ```
/// use sleep_core::deadlock::TooManyUnblocked;
///
/// let error = TooManyUnblocked { requested: 2, blocked: 1 };
/// assert_eq!(error.to_string(), "2 workers are to be unblocked, but 1 is blocked");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyUnblocked {
    /// The number that was requested.
    pub requested: usize,
    /// The number of blocked workers that no call has unmarked.
    pub blocked: usize,
}

impl fmt::Display for TooManyUnblocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: usize| if count == 1 { "is" } else { "are" };
        let Self { requested, blocked } = *self;
        let workers = if requested == 1 { "worker" } else { "workers" };
        write!(
            f,
            "{requested} {workers} {} to be unblocked, but {blocked} {} blocked",
            count(requested),
            count(blocked)
        )
    }
}

impl core::error::Error for TooManyUnblocked {}
