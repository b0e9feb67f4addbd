//! The atomics, cells and fences that this crate uses, from the crate that chooses them: real ones,
//! or loom's.

#[cfg(any(test, not(target_has_atomic = "64")))]
pub(crate) use sleep_primitives::AtomicU32;
#[cfg(any(loom, target_has_atomic = "64"))]
pub(crate) use sleep_primitives::AtomicWord as AtomicU64;
pub(crate) use sleep_primitives::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering, UnsafeCell, fence, spin_loop,
};
