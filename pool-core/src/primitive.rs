//! The atomics, cells and fences that this crate uses, from the crate that chooses them: real ones, or loom's.

pub(crate) use sleep_primitives::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering, UnsafeCell, fence, spin_loop,
};
