//! Positions: where elements are in a deque.

use core::fmt;

#[cfg(doc)]
use super::Worker;

/// Where an element is in a deque, or will be: from [`Worker::try_push`] or
/// [`Worker::next_position`].
///
/// A deque numbers its elements in the order of the pushes; that number is the element's *index*. A
/// position is an index in the form in which the deque's words hold it: shifted by the three
/// bits that a word needs for other things. Positions wrap around, so they have a distance but no
/// order.
///
/// A position is meaningful only to the worker that returned it. It fits into one word, so that a
/// job can keep it.
///
/// # Examples
/// ```
/// use deque_core::{Position, TakeBack, Worker};
///
/// let worker = Worker::new_lifo();
/// let next = worker.next_position();
/// let pushed = worker.try_push(7)?;
/// assert_eq!(pushed, next);
/// let kept = Position::from_word(pushed.into_word());
/// // SAFETY: 1. the position is from this worker's push.
/// assert_eq!(unsafe { worker.take_back(kept) }, TakeBack::Taken);
/// # Ok::<(), deque_core::Full<i32>>(())
/// ```
#[doc(alias = "Place")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Position(usize);

impl Position {
    /// The position at which there is never an element. A FIFO deque returns it for every push.
    pub const NOWHERE: Self = Self(usize::MAX);

    /// By how much the words of two neighboring positions differ: the lowest three bits of a
    /// position are zero.
    pub(super) const STEP: usize = 8;

    /// The most elements of a ring, a power of two. Distances within it are positive, and no
    /// position is beyond a word of a fenced mode (see `FENCED_OFFSET`). On 64 bits only elements
    /// without words reach it; on 32 bits, elements of one word do with half a gigabyte.
    pub(super) const MOST_ELEMENTS: usize = 1 << (usize::BITS - 5);

    /// Returns the position as a word.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Position;
    ///
    /// let word = Position::NOWHERE.into_word();
    /// assert_eq!(Position::from_word(word), Position::NOWHERE);
    /// ```
    #[inline]
    #[must_use]
    pub const fn into_word(self) -> usize {
        self.0
    }

    /// Returns the position from which [`into_word`](Self::into_word) made this word.
    ///
    /// # Examples
    /// See [`into_word`](Self::into_word).
    #[inline]
    #[must_use]
    pub const fn from_word(word: usize) -> Self {
        Self(word)
    }

    /// Whether this position is `other` or comes after it, if not more than half of all positions
    /// lie between them.
    ///
    /// # Examples
    /// See [`Stealer::steal_if`](super::Stealer::steal_if).
    #[inline]
    #[must_use]
    pub const fn is_at_or_after(self, other: Self) -> bool {
        other.distance_to(self) >= 0
    }

    /// Returns the position of an index, whose three highest bits are lost.
    #[inline]
    pub(super) const fn from_index(index: usize) -> Self {
        Self(index.wrapping_mul(Self::STEP))
    }

    /// Returns the index, without the bits that a position has no room for.
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 / Self::STEP
    }

    /// Returns the position that is `count` elements further.
    #[inline]
    pub(super) const fn plus(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count * Self::STEP))
    }

    /// Returns the position of the element before this one.
    #[inline]
    pub(super) const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(Self::STEP))
    }

    /// Returns how many elements there are from this position to `end`, across the wrap-around. It
    /// is negative if `end` comes first.
    #[inline]
    pub(super) const fn distance_to(self, end: Self) -> isize {
        end.0.wrapping_sub(self.0).cast_signed() / Self::STEP.cast_signed()
    }

    /// Returns how many elements there are from this position to `end`, none if `end` comes first.
    #[inline]
    pub(super) fn count_to(self, end: Self) -> usize {
        self.distance_to(end).max(0).unsigned_abs()
    }
}

impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NOWHERE {
            return f.write_str("Position::NOWHERE");
        }
        f.debug_tuple("Position").field(&self.index()).finish()
    }
}
