//! The values that progress is counted in.

use core::{fmt, marker::PhantomData};

use sleep_primitives::RawWord;

/// What a line holds while its thread waits. No value: these are odd.
pub(crate) const WAITING: RawWord = 0;

/// The first value.
pub(crate) const FIRST: RawWord = 1;

/// From one value to the next. The lowest bit of a value stays set, so that counting never comes to
/// [`WAITING`], also when it wraps around; the two above it are free for [`State`](crate::state::State).
pub(crate) const STEP: RawWord = 8;

/// The value after this one.
#[inline]
pub(crate) const fn next(value: RawWord) -> RawWord {
    value.wrapping_add(STEP)
}

/// Which of two counters belongs to this value: neighbors differ. Across the wrap-around too, since
/// there is an even number of values.
#[inline]
pub(crate) const fn parity(value: RawWord) -> usize {
    (value / STEP % 2) as usize
}

/// Whether counting has come to `value`. Right across the wrap-around, as long as less than half
/// of all values lie between the two.
pub(crate) const fn is_reached(current: RawWord, value: RawWord) -> bool {
    current.wrapping_sub(value) <= RawWord::MAX / 2
}

/// A value as one would count.
pub(crate) const fn number(value: RawWord) -> RawWord {
    value / STEP
}

/// A moment in the future of a [`Progress`](crate::Progress), from
/// [`later`](crate::Progress::later).
#[doc(alias = "Value")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Moment<'p> {
    pub(crate) raw: RawWord,
    /// Where the instance is; it cannot move while the value lives.
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
