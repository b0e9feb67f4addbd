//! The atomics that this crate uses, from the crate that chooses them: real ones, or loom's.

pub(crate) use sleep_primitives::{
    AtomicU8, AtomicUsize, AtomicWord, Custody, Ordering, fence, spin_loop,
};
