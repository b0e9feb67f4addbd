#![doc = include_str!("../README.md")]
#![no_std]

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: `--features loom`");

#[cfg(test)]
extern crate std;

#[macro_use]
mod constant;

mod atomic;
mod cell;
mod fence;
#[cfg(simulate)]
pub mod simulate;

pub use atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, AtomicWord, LoadStoreU8, Ordering,
    RawWord, fence, spin_loop,
};
pub use cell::{Custody, UnsafeCell};
pub use fence::{AsymmetricFence, FullFences, full_fence};
