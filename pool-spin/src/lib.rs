#![doc = include_str!("../README.md")]
#![no_std]
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

#[cfg(test)]
extern crate std;

#[macro_use]
mod primitive;

mod machine;
// Its statics cannot hold loom's atomics; what it is made of is modelled where it lives.
#[cfg(not(loom))]
mod pool;

pub use machine::*;
#[cfg(not(loom))]
pub use pool::*;

#[cfg(not(loom))]
pub use pool_core::{IdlePolicy, Parker, Relax, UnknownWorker, progress};
