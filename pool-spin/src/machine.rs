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
#[cfg(not(loom))]
pub trait Machine: 'static {
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
