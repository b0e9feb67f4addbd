//! Where an element is, and what comes of taking it back.

use core::fmt;

#[cfg(doc)]
use super::Worker;
use super::top::STEP;

/// Where an element is in a deque, or will be: from [`Worker::try_push`] and [`Worker::next_position`], for
/// the same worker.
///
/// Made for being kept in one word beside the element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    position: usize,
}

impl Position {
    /// Where no element ever is.
    pub const NOWHERE: Self = Self {
        position: usize::MAX,
    };

    #[inline]
    pub(super) const fn new(position: usize) -> Self {
        debug_assert!(position.is_multiple_of(STEP));
        Self { position }
    }

    /// Whether it is this position.
    #[inline]
    pub(super) const fn is_at(self, position: usize) -> bool {
        self.position == position
    }

    /// As a word.
    #[inline]
    #[must_use]
    pub const fn into_word(self) -> usize {
        self.position
    }

    /// From what [`into_word`](Self::into_word) gave.
    #[inline]
    #[must_use]
    pub const fn from_word(word: usize) -> Self {
        Self { position: word }
    }
}

/// The result of [`Worker::fast_push`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum FastPush {
    /// The element is in the deque, and fast push is enabled.
    #[doc(alias = "Calmly")]
    Pushed,
    /// The element is in the deque, but another thread has
    /// [disabled fast push](crate::Deque::disable_fast_push). The worker checks what that thread has
    /// announced, and may [enable fast push](Worker::enable_fast_push) again.
    #[doc(alias = "Alerted")]
    PushedWhileDisabled,
    /// The element is not in the deque: the worker knows of no more room.
    /// [`Worker::try_push`] looks whether there is any.
    #[doc(alias = "NoRoom")]
    LimitReached,
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
