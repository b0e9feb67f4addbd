//! The one place where the crates choose their atomics.

#[cfg(simulate)]
mod simulated;

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU8 as LoadStoreU8, AtomicU32,
        AtomicU64 as AtomicWord, AtomicUsize, Ordering, fence,
    },
};

#[cfg(all(simulate, not(loom)))]
pub use simulated::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU8 as LoadStoreU8, AtomicU32, AtomicUsize, AtomicWord,
    Ordering, fence, spin_loop,
};

#[cfg(not(any(loom, simulate)))]
pub use core::hint::spin_loop;
/// A byte that is loaded and stored, and never exchanged. Where a core has no
/// compare-and-swap, this compiles only without exchanges, and each access is one instruction:
/// an access of an [`AtomicU8`] is a critical section there.
#[cfg(not(any(loom, simulate)))]
pub use core::sync::atomic::AtomicU8 as LoadStoreU8;
#[cfg(all(not(any(loom, simulate)), not(target_has_atomic = "64")))]
pub use portable_atomic::AtomicU32 as AtomicWord;
#[cfg(all(not(any(loom, simulate)), target_has_atomic = "64"))]
pub use portable_atomic::AtomicU64 as AtomicWord;
#[cfg(not(any(loom, simulate)))]
pub use portable_atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering, fence,
};

/// The integer in an [`AtomicWord`].
#[cfg(any(loom, simulate, target_has_atomic = "64"))]
pub type RawWord = u64;
/// The integer in an [`AtomicWord`].
#[cfg(not(any(loom, simulate, target_has_atomic = "64")))]
pub type RawWord = u32;
