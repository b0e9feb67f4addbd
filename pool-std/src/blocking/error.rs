//! The error of a mark that cannot be made.

use std::{error::Error, fmt};

/// The error of a mark that cannot be set or removed. In that case, nothing has changed, but for
/// the other tickets of a [`mark_all_unblocked`](crate::mark_all_unblocked).
///
/// # Examples
/// ```
/// // This thread is no worker.
/// assert_eq!(pool_std::mark_blocked("a lock").err(), Some(pool_std::MarkError::NotAWorker));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MarkError {
    /// The calling thread is not a worker, so its blocking does not delay a pool.
    NotAWorker,
    /// The calling worker is already marked as blocked.
    AlreadyBlocked,
    /// The worker is not blocked, or no longer in the section that the ticket names.
    NotBlocked,
    /// The caller is a handler of some pool, which must neither mark nor unmark. A deadlock handler
    /// must let another thread do that.
    InHandler,
}

impl fmt::Display for MarkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAWorker => "the current thread is not a worker of a thread pool",
            Self::AlreadyBlocked => "the worker is already marked as blocked",
            Self::NotBlocked => "the worker is not blocked, or in another section",
            Self::InHandler => "a handler of a thread pool cannot mark or unmark workers",
        })
    }
}

impl Error for MarkError {}
