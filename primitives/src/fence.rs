//! Sequentially consistent fences, symmetric and asymmetric.

#[cfg(any(
    not(all(target_arch = "x86_64", target_pointer_width = "64")),
    loom,
    miri,
    simulate
))]
use crate::{Ordering, fence};

/// Executes a sequentially consistent fence.
#[cfg(any(
    not(all(target_arch = "x86_64", target_pointer_width = "64")),
    loom,
    miri,
    simulate
))]
#[inline]
#[cfg_attr(simulate, track_caller)]
pub fn full_fence() {
    fence(Ordering::SeqCst);
}

/// Executes a sequentially consistent fence.
///
/// The compiler translates the portable fence to `MFENCE`. Any locked instruction orders all loads
/// and stores of ordinary memory too, at less than half the price.
#[cfg(not(any(
    not(all(target_arch = "x86_64", target_pointer_width = "64")),
    loom,
    miri,
    simulate
)))]
#[inline]
pub fn full_fence() {
    // The word serves nothing else. If the caller's next instructions read it back, they would wait
    // for the fence.
    let mut word = 0_u32;
    // SAFETY: the instruction adds zero to the word, so it changes no memory. For the compiler it
    // is a call that may read and write any memory, because no option says otherwise.
    unsafe {
        core::arch::asm!("lock or dword ptr [{}], 0", in(reg) &raw mut word, options(nostack));
    }
}

/// A pair of fences for an asymmetric Dekker point: `light` is executed often, and `heavy` seldom.
///
/// [`FullFences`] is a full fence on both sides, on any machine. If the operating system can make
/// all threads of the process execute a barrier (`membarrier` on Linux), then `heavy` is that
/// system call and `light` only restrains the compiler. The names are those of C++ (P1202) and
/// folly.
///
/// # Safety
/// 1. A call of `heavy` that returns true acts as a sequentially consistent fence towards calls of
///    `heavy` and of `light`, and towards sequentially consistent fences, on any thread: of any two
///    of these, one is before the other, as it is with two sequentially consistent fences.
/// 2. A call of `light` acts as a sequentially consistent fence towards sequentially consistent
///    fences. Or the compiler moves no memory access across the call, and the program runs only on
///    processors that are multi-copy atomic: a store that one other processor sees, all others see.
///    x86, AArch64, RISC-V and s390x are multi-copy atomic. POWER is not, and 32-bit Arm need not
///    be before ARMv8.
/// 3. Neither function unwinds.
///
/// Nothing is required of two calls of `light`.
#[doc(alias = "membarrier")]
#[doc(alias = "asymmetric_thread_fence")]
#[doc(alias = "Barrier")]
pub unsafe trait AsymmetricFence {
    /// Executes the fence of the frequent side, such as the readers of shared structures.
    #[doc(alias = "asymmetric_thread_fence_light")]
    fn light();

    /// Executes the fence of the rare side. Returns false if there was none.
    ///
    /// An operating system may take back what it has granted before. Each caller documents what it
    /// does after a false answer.
    #[doc(alias = "asymmetric_thread_fence_heavy")]
    #[must_use]
    fn heavy() -> bool;
}

/// Full fences on both sides. Needs nothing of the system.
#[doc(alias = "Fences")]
#[derive(Debug, Clone, Copy)]
pub enum FullFences {}

// SAFETY: obligations 1 and 2: both functions are sequentially consistent fences. Obligation 3:
// `full_fence` does not unwind.
unsafe impl AsymmetricFence for FullFences {
    #[inline]
    fn light() {
        full_fence();
    }

    #[inline]
    fn heavy() -> bool {
        full_fence();
        true
    }
}

#[cfg(test)]
mod tests;
