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
mod arena;
mod broadcast;
mod core_local;
mod error;
mod gate;
mod interrupts;
mod life;
mod machine;
mod parker;
mod platform;
mod pool;
mod primitive;
mod scope;
mod spawn;
mod statistics;
mod task;
mod worker;

pub use arena::{Arena, CLOSURE_WORDS};
pub use core_local::*;
pub use error::{ReleaseError, RunError, SpawnError, SpawnErrorReason, StillRunning};
pub use interrupts::{Interrupts, Ipi};
pub use machine::{CoreParker, Machine};
#[cfg(any(target_arch = "aarch64", all(target_arch = "arm", target_os = "none")))]
pub use parker::Wfe;
pub use parker::{HltIpi, Spin, WfiIpi};
pub use pool::{Left, SpinPool};
pub use scope::Scope;
pub use statistics::Statistics;
pub use task::Task;
pub use worker::Worker;

pub use pool_core::{IdlePolicy, Parker, Relax, UnknownWorker, progress};

#[cfg(test)]
mod tests;
