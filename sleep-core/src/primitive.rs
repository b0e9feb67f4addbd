//! The one place where this crate chooses its atomics.
//!
//! - normally: `portable-atomic`, which is `core::sync::atomic` where the target has what we need
//!   and something equivalent where it has not;
//! - under `--cfg loom` with the feature `loom`: loom's, so that models explore every interleaving of the code that ships.

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: `--features loom`");

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU64 as AtomicWord, AtomicUsize, Ordering, fence,
    },
};

#[cfg(not(loom))]
pub(crate) use core::hint::spin_loop;
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub(crate) use portable_atomic::AtomicU32 as AtomicWord;
#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use portable_atomic::AtomicU64 as AtomicWord;
#[cfg(not(loom))]
pub(crate) use portable_atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering, fence};

/// Defines a function that is `const` except under loom, whose atomics cannot be made in a
/// constant.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}

/// Custody of something that has one owner at a time and is handed over by atomics: empty, but under
/// loom it is a cell.
///
/// Each owner calls [`hold`](Self::hold) while it is the owner. Loom reports two owners between whom
/// nothing orders the hand-over. A model cannot see such a gap otherwise where what is handed over is
/// only changed by exchanges, which in loom always act on the newest value.
pub(crate) struct Custody {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<()>,
}

// SAFETY: there is nothing to read or write in it.
#[cfg(loom)]
unsafe impl Sync for Custody {}

impl Custody {
    const_unless_loom! {
        pub fn new() -> Self {
            Self {
                #[cfg(loom)]
                cell: loom::cell::UnsafeCell::new(()),
            }
        }
    }

    #[inline(always)]
    pub(crate) fn hold(&self) {
        #[cfg(loom)]
        self.cell.with_mut(|_| ());
    }
}

/// What an [`AtomicWord`] holds.
#[cfg(any(loom, target_has_atomic = "64"))]
pub(crate) type RawWord = u64;
/// What an [`AtomicWord`] holds.
#[cfg(not(any(loom, target_has_atomic = "64")))]
pub(crate) type RawWord = u32;

/// A sequentially consistent fence.
#[cfg(any(not(target_arch = "x86_64"), loom, miri))]
#[inline]
pub(crate) fn full_fence() {
    fence(Ordering::SeqCst);
}

/// A sequentially consistent fence.
///
/// The compiler makes `MFENCE` of the portable fence. Any locked instruction orders all loads and
/// stores of ordinary memory as well, at less than half the price.
#[cfg(not(any(not(target_arch = "x86_64"), loom, miri)))]
#[inline]
pub(crate) fn full_fence() {
    // A word of its own: one that the frame uses would be read back by its next instructions, which
    // then wait for the fence.
    let mut word = 0_u32;
    // SAFETY: adds nothing to the word, so changes no memory; for the compiler it is a call that
    // may read and write any memory, since it is not marked otherwise.
    unsafe {
        core::arch::asm!("lock or dword ptr [{}], 0", in(reg) &raw mut word, options(nostack));
    }
}
