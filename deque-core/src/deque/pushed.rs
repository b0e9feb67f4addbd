//! What comes of pushing, and of taking back.

use core::fmt;

#[cfg(doc)]
use super::Worker;

/// Where an element was put. From [`Worker::try_push`]; for the same worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pushed {
    /// The position after it.
    pub(super) end: usize,
}

/// What came of [`Worker::take_back`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeBack {
    /// The element is the caller's again.
    Taken,
    /// A thief has it, or the owner has popped it as the last one. The deque is empty: thieves take
    /// the oldest.
    Stolen,
    /// The owner has pushed others since, which are newer, or has popped it.
    NotNewest,
}

/// The deque has a fixed capacity and is full; here is the element back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full<T>(pub T);

impl<T> fmt::Display for Full<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deque is full")
    }
}

impl<T: fmt::Debug> core::error::Error for Full<T> {}
