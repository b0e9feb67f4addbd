//! The fences of the protocol, in two weights.

use crate::primitive::full_fence;

/// Fences in two weights: the light one is taken where threads read, often, and the heavy one
/// where progress is made, seldom.
///
/// [`Fences`] takes full fences for both, on any machine. Where the operating system can have all
/// threads of the process execute a barrier (`membarrier` on Linux), the light one can be a mere
/// order to the compiler.
///
/// # Safety
/// 1. For any call of `heavy` and any call of `light` or `heavy`, on any two threads, one of the
///    two is before the other as it is with two sequentially consistent fences. Nothing is asked
///    of two calls of `light`.
pub unsafe trait Barrier {
    /// The fence of those who read.
    fn light();

    /// The fence of the one who makes progress.
    fn heavy();
}

/// Full fences for both.
#[derive(Debug, Clone, Copy)]
pub enum Fences {}

// SAFETY: 1. both are sequentially consistent fences.
unsafe impl Barrier for Fences {
    #[inline]
    fn light() {
        full_fence();
    }

    fn heavy() {
        full_fence();
    }
}
