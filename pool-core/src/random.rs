//! Random numbers for choosing victims.

use core::cell::Cell;

#[cfg(all(test, not(loom)))]
mod tests;

/// xorshift64*: one word of state, a few instructions, good enough to spread thieves.
///
/// Source: S. Vigna, *An experimental exploration of Marsaglia's xorshift generators, scrambled*
/// (2016).
pub(crate) struct XorShift64Star {
    state: Cell<u64>,
}

impl XorShift64Star {
    pub(crate) fn new(seed: u64) -> Self {
        // The state must not be zero; the multiplication spreads seeds that are close together.
        Self {
            state: Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        }
    }

    /// Returns a number below `end`, which must not be zero and should be far below 2³².
    pub(crate) fn below(&self, end: usize) -> usize {
        let mut state = self.state.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.state.set(state);
        let high = state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        ((high * end as u64) >> 32) as usize
    }
}
