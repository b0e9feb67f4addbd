//! The atomics that this crate uses, from the crate that chooses them: real ones, or loom's.

#[cfg(feature = "deadlock")]
pub(crate) use sleep_primitives::AtomicBool;
pub(crate) use sleep_primitives::{
    AtomicU8, AtomicU16, AtomicU32, AtomicUsize, AtomicWord, Custody, LoadStoreU8, Ordering, fence,
    spin_loop,
};
