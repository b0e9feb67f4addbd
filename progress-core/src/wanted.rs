//! The values at which one thread is to be woken.

use crate::moment::{STEP, WAITING, is_reached};
use sleep_primitives::RawWord;

/// The values at which a thread is to be woken, in one word: the first of them, whose lowest bit
/// is set, and a bit more for each of the two values after it.
///
/// That is enough: a value is at most three advances away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted(RawWord);

/// A bit for each value: the first one, and the two after it.
const MASK: RawWord = STEP - 1;

impl Wanted {
    pub(crate) const NONE: Self = Self(WAITING);

    pub(crate) const fn from_word(word: RawWord) -> Self {
        Self(word)
    }

    pub(crate) const fn word(self) -> RawWord {
        self.0
    }

    /// The first of the values.
    pub(crate) fn first(self) -> Option<RawWord> {
        (self != Self::NONE).then_some(self.0 & !MASK | 1)
    }

    /// Without the values that are reached.
    #[must_use]
    pub(crate) const fn without_reached(self, current: RawWord) -> Self {
        let (mut first, mut mask) = (self.0 & !MASK, self.0 & MASK);
        while mask != 0 && (mask & 1 == 0 || is_reached(current, first | 1)) {
            first = first.wrapping_add(STEP);
            mask >>= 1;
        }
        if mask == 0 {
            Self::NONE
        } else {
            Self(first | mask)
        }
    }

    /// With one value more. None of them is reached, so that they lie within three advances.
    #[must_use]
    pub(crate) fn with(self, value: RawWord) -> Self {
        let Some(first) = self.first() else {
            return Self(value);
        };
        if is_reached(value, first) {
            let distance = value.wrapping_sub(first) / STEP;
            debug_assert!(distance < 3, "{self:?}, {value}");
            Self(self.0 | ((1 << distance) & MASK))
        } else {
            let distance = first.wrapping_sub(value) / STEP;
            debug_assert!(
                self.0 & MASK & !(MASK >> distance) == 0,
                "{self:?}, {value}"
            );
            Self(value | (((self.0 & MASK) << distance) & MASK))
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Against a plain list of values, near the wrap-around too.
    #[test]
    fn wishes_are_kept_until_they_are_reached() {
        for start in [1, (0 as RawWord).wrapping_sub(STEP * 2).wrapping_add(1)] {
            let value = |steps: usize| start.wrapping_add(STEP * steps as RawWord);
            // Any two or three wishes, in any order, of the three values that may be asked for.
            for (a, b, c) in (0..27).map(|n| (1 + n % 3, 1 + n / 3 % 3, 1 + n / 9)) {
                let mut wanted = Wanted::NONE.with(value(a)).with(value(b)).with(value(c));
                for reached in 0..=4 {
                    wanted = wanted.without_reached(value(reached));
                    let first = [a, b, c]
                        .into_iter()
                        .filter(|wanted| *wanted > reached)
                        .min();
                    assert_eq!(wanted.first(), first.map(value), "{a} {b} {c} at {reached}");
                }
                assert_eq!(wanted, Wanted::NONE);
            }
        }
    }
}
