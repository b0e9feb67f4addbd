//! The atomics and fences that this crate uses, from the crate that chooses them: real ones, or loom's.

pub(crate) use sleep_primitives::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, AtomicWord, Custody, Ordering, RawWord, fence,
    full_fence, spin_loop,
};
