//! The atomics that this crate uses, from the crate that chooses them: real ones, or loom's.

pub(crate) use sleep_primitives::{AtomicBool, AtomicUsize, Ordering};
#[cfg(not(loom))]
pub(crate) use sleep_primitives::{AtomicPtr, spin_loop};
