#![doc = include_str!("../README.md")]
#![no_std]
#![deny(
    missing_docs,
    unsafe_op_in_unsafe_fn,
    clippy::undocumented_unsafe_blocks
)]

#[cfg(test)]
extern crate std;

#[cfg(any(
    target_arch = "aarch64",
    all(target_arch = "arm", target_os = "none"),
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "x86_64"
))]
pub mod arch;
mod core_local;
mod interrupts;
mod machine;
mod parker;
mod platform;
mod pool;
mod primitive;

pub use core_local::*;
pub use interrupts::{Interrupts, Ipi};
pub use machine::{CoreParker, Machine};
pub use parker::*;
pub use pool::{Pool, RunError, Worker};
pub use pool_core::{IdlePolicy, Relax};

#[cfg(test)]
mod tests;
