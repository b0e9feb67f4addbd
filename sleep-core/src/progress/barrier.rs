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
/// 1. A call of `heavy` that returns true acts as a sequentially consistent fence towards calls of `heavy` and of
///    `light`, and towards sequentially consistent fences, such as the one in
///    [`Progress::later`](super::Progress::later), on any thread: of any two of these, one is before
///    the other as it is with two sequentially consistent fences.
/// 2. A call of `light` acts as a sequentially consistent fence towards sequentially consistent
///    fences; or the compiler moves no memory access across it, and the program runs only on
///    processors that are multi-copy atomic: a store that one other processor sees, all others see.
///    x86, AArch64, RISC-V and s390x are; POWER is not, and 32-bit Arm need not be before ARMv8.
///
/// Nothing is asked of two calls of `light`. "What rests on what" in the [module](super) has the
/// step of the proof that needs the second obligation.
pub unsafe trait Barrier {
    /// The fence of those who read.
    fn light();

    /// The fence of the one who makes progress. Returns false if there was none.
    ///
    /// An operating system may take back what it has granted before. Then progress stops where it
    /// is: nothing is freed any more until the instance is dropped, and a thread that waits for
    /// a later value goes on waiting.
    #[must_use]
    fn heavy() -> bool;
}

/// Full fences for both.
#[derive(Debug, Clone, Copy)]
pub enum Fences {}

// SAFETY: 1. and 2. both are sequentially consistent fences.
unsafe impl Barrier for Fences {
    #[inline]
    fn light() {
        full_fence();
    }

    fn heavy() -> bool {
        full_fence();
        true
    }
}
