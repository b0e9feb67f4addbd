//! Work that takes time and nothing else.

use std::{hint::black_box, time::Duration, time::Instant};

/// A number that looks random: the output function of SplitMix64 (G. L. Steele, D. Lea and
/// C. H. Flood, "Fast splittable pseudorandom number generators", 2014).
#[inline]
pub(crate) fn splitmix64(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// About so many rounds of the generator take a microsecond.
pub(crate) const ROUNDS_PER_MICROSECOND: u32 = 280;

/// The same work in every run: about so many milliseconds of it.
pub(crate) fn compute(milliseconds: u32) -> u64 {
    compute_rounds(milliseconds * 1_000 * ROUNDS_PER_MICROSECOND)
}

/// The same work in every run: so many rounds of the generator, each of which needs the last.
#[inline(never)]
pub(crate) fn compute_rounds(rounds: u32) -> u64 {
    (0..rounds).fold(black_box(0), |state, _| splitmix64(state))
}

/// Keeps the processor busy for so long.
pub(crate) fn spin(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {}
}
