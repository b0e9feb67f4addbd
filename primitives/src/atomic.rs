//! The one place where the crates choose their atomics.

#[cfg(loom)]
pub use loom::{
    hint::spin_loop,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64 as AtomicWord,
        AtomicUsize, Ordering, fence,
    },
};

#[cfg(not(loom))]
pub use core::hint::spin_loop;
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub use portable_atomic::AtomicU32 as AtomicWord;
#[cfg(all(not(loom), target_has_atomic = "64"))]
pub use portable_atomic::AtomicU64 as AtomicWord;
#[cfg(not(loom))]
pub use portable_atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicUsize, Ordering, fence,
};

/// The integer in an [`AtomicWord`].
#[cfg(any(loom, target_has_atomic = "64"))]
pub type RawWord = u64;
/// The integer in an [`AtomicWord`].
#[cfg(not(any(loom, target_has_atomic = "64")))]
pub type RawWord = u32;
