//! The values that progress is counted in.

use core::{fmt, marker::PhantomData};

use sleep_primitives::RawWord;

/// The content of a participant whose thread waits. It is not a value, because values are odd.
pub(crate) const WAITING: RawWord = 0;

/// The first value.
pub(crate) const FIRST: RawWord = 1;

/// The distance between two values. The lowest bit of a value stays set, so that no value equals
/// [`WAITING`], even after the count wraps around. The two bits above it are free for
/// [`State`](crate::state::State).
pub(crate) const STEP: RawWord = 8;

/// Returns the value after this one.
#[inline]
pub(crate) const fn next(value: RawWord) -> RawWord {
    value.wrapping_add(STEP)
}

/// Returns the index of the one of two counters that belongs to this value. Neighbors differ, also
/// across the wrap-around, because the number of values is even.
#[inline]
pub(crate) const fn parity(value: RawWord) -> usize {
    (value / STEP % 2) as usize
}

/// Whether the count has come to `value`. Correct across the wrap-around if less than half of all
/// values lie between the two.
pub(crate) const fn is_reached(current: RawWord, value: RawWord) -> bool {
    current.wrapping_sub(value) <= RawWord::MAX / 2
}

/// Returns the ordinal number of a value, for debug output.
pub(crate) const fn number(value: RawWord) -> RawWord {
    value / STEP
}

/// A moment in the future of a [`Progress`](crate::Progress), from
/// [`later`](crate::Progress::later).
///
/// The end of a grace period, in the words of RCU.
///
/// The values that progress is counted in wrap around. With 64-bit atomics that takes centuries. On
/// targets without them, use a moment within 2²⁸ advances: after that it seems to be in the future
/// again, for as many more. A thread that waits for it then makes all of these advances. The same
/// holds for an operation that its thread has not run by then. It never seems to come too early.
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let moment = progress.later();
/// // No thread reads, so that the moment comes at once.
/// assert!(progress.has_reached(moment));
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[doc(alias = "Value")]
#[doc(alias = "grace period")]
#[must_use = "a moment is waited for, or compared with the present one"]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Moment<'p> {
    pub(crate) raw: RawWord,
    /// The address of the instance, which cannot move while the moment lives.
    pub(crate) instance: *const (),
    pub(crate) lifetime: PhantomData<&'p ()>,
}

// SAFETY: the pointer is only compared.
unsafe impl Send for Moment<'_> {}
// SAFETY: as above.
unsafe impl Sync for Moment<'_> {}

impl fmt::Debug for Moment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Moment").field(&number(self.raw)).finish()
    }
}
