//! The number of bits of each counter: set by the target, and by tests.

use super::counters::Word;

/// The widths of the counters: 16 bits for each thread counter and 32 for the JEC; where there are
/// no native 64-bit atomics, 8 and 16.
///
/// A type without fields, whose functions are constants, except in the tests of this crate. They
/// choose narrower counters, so that they meet the rollover of the jobs event counter, which
/// otherwise takes 2³¹ sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Widths {
    #[cfg(test)]
    thread_bits: u32,
    #[cfg(test)]
    jec_bits: u32,
}

const THREAD_BITS: u32 = Word::BITS / 4;
const JEC_BITS: u32 = Word::BITS / 2;

impl Widths {
    /// Those of every program.
    pub(crate) const DEFAULT: Self = Self {
        #[cfg(test)]
        thread_bits: THREAD_BITS,
        #[cfg(test)]
        jec_bits: JEC_BITS,
    };

    /// Creates other ones. Two thread counters and one jobs event counter must fit into a [`Word`].
    #[cfg(test)]
    pub(crate) const fn new(thread_bits: u32, jec_bits: u32) -> Self {
        assert!(
            jec_bits >= 1 && thread_bits >= 1,
            "every counter needs a bit"
        );
        assert!(
            2 * thread_bits + jec_bits <= Word::BITS,
            "they must fit into one word"
        );
        Self {
            thread_bits,
            jec_bits,
        }
    }

    #[inline(always)]
    const fn thread_bits(self) -> u32 {
        #[cfg(test)]
        return self.thread_bits;
        #[cfg(not(test))]
        THREAD_BITS
    }

    #[inline(always)]
    pub(super) const fn jec_shift(self) -> u32 {
        #[cfg(test)]
        return Word::BITS - self.jec_bits;
        #[cfg(not(test))]
        return Word::BITS - JEC_BITS;
    }

    #[inline(always)]
    pub(super) const fn inactive_shift(self) -> u32 {
        self.thread_bits()
    }

    #[inline(always)]
    pub(super) const fn one_inactive(self) -> Word {
        1 << self.thread_bits()
    }

    #[inline(always)]
    pub(super) const fn one_jec(self) -> Word {
        1 << self.jec_shift()
    }

    /// Returns the bits of the sleeping count.
    #[inline(always)]
    pub(super) const fn thread_mask(self) -> Word {
        (1 << self.thread_bits()) - 1
    }

    /// Returns the greatest number of threads that the thread counters can count.
    #[inline(always)]
    pub(crate) const fn max_threads(self) -> usize {
        self.thread_mask() as usize
    }
}
