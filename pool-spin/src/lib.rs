#![doc = include_str!("../README.md")]
#![no_std]
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

#[cfg(test)]
extern crate std;

mod parker;
mod platform;
mod pool;
mod primitive;

pub use parker::SpinParker;
pub use platform::CoreLocal;
pub use pool::{Pool, RunError, Worker};
pub use pool_core::{IdlePolicy, Relax};

#[cfg(test)]
mod tests;
