//! What a pool needs of the machine it runs on.

#[cfg(any(
    target_arch = "aarch64",
    all(target_arch = "arm", target_os = "none"),
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "x86_64"
))]
pub mod arch;
#[cfg(not(loom))]
mod core_local;
mod interrupts;
mod parker;

#[cfg(not(loom))]
pub use core_local::*;
pub use interrupts::{Events, Interrupts, Ipi};
pub use parker::{HltIpi, Spin, Wfe, WfiIpi};

#[cfg(not(loom))]
use pool_core::Parker;

/// A machine: how a core finds out which worker it is, and how it sleeps.
///
/// A firmware has one such type, without a value; see the boards beside this crate.
///
/// # Safety
/// 1. What [`Local`](Self::Local) demands of its user holds; as a rule, that a register holds null
///    when the core first uses a pool, and belongs to the pools from then on.
/// 2. While a core is a worker, the code that made it one neither moves to another core nor is
///    pre-empted by code that uses the pool, but for interrupt handlers, and other code that runs
///    in between, which keep to what the pool allows handlers: anything else would find the worker
///    in the middle of something.
#[cfg(not(loom))]
pub unsafe trait Machine: 'static {
    /// One pointer for each core.
    type Local: CoreLocal;
    /// How a worker sleeps. A pool has two of them for each worker: one for its jobs and one for
    /// its thread progress.
    type Parker: CoreParker;
}

/// A parker that a `static` can hold.
#[cfg(not(loom))]
pub trait CoreParker: Parker + Send + Sync + 'static {
    /// A parker without a token.
    const NEW: Self;
}
