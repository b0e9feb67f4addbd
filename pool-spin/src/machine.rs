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
mod parker;

#[cfg(target_arch = "aarch64")]
pub use core_local::TpidrEl1;
#[cfg(not(loom))]
pub use core_local::{CoreLocal, CoreNumber, CorePointer, Numbered};
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
pub use core_local::{Mscratch, Sscratch};
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

/// The interrupts of the core that calls: masking them all, and halting until one is pending.
///
/// Implemented for the usual architectures in `pool_spin::arch`.
pub trait Interrupts: 'static {
    /// How the interrupts were masked before.
    type State: Copy;

    /// Masks all interrupts of this core: they stay pending. Returns how it was.
    ///
    /// A barrier to the compiler, as the others are.
    fn mask() -> Self::State;

    /// Masks the interrupts as they were. Handlers of those that are pending and no longer masked
    /// run now.
    fn restore(state: Self::State);

    /// With interrupts masked: halts until an interrupt is pending for this core, and returns at
    /// once if one is, also if it came before the call. May return for no reason. Masked at the end
    /// as at the beginning.
    fn halt();
}

/// Interrupts from core to core.
///
/// The implementation knows the interrupt controller. Cores have numbers of its choice, below
/// `usize::MAX - 1`; they need not be workers' numbers.
pub trait Ipi: 'static {
    /// The interrupts of a core.
    type Interrupts: Interrupts;

    /// The number of the core that calls.
    fn this_core() -> usize;

    /// Makes the interrupt pending on a core, which may be the one that calls. May be called from
    /// interrupt handlers, and by several cores at once.
    ///
    /// What this core wrote to memory before must be visible to that core when the interrupt is:
    /// as a rule that takes a barrier before the write to the controller.
    fn send(core: usize);

    /// Makes the interrupt no longer pending on the core that calls; does nothing if it is not.
    /// Called by [`WfiIpi`](crate::WfiIpi) after each halt, and by the firmware's own handler for
    /// the interrupt; where only a handler can do it, as on x86, by that alone.
    ///
    /// What this core reads from memory afterwards must be read after that: as a rule that takes a
    /// barrier behind the write to the controller. An interrupt that is sent later becomes pending
    /// again.
    fn clear();
}

/// Events between cores, as Arm has them: each core has a register of one bit.
///
/// Implemented for Arm's architectures in `pool_spin::arch`.
pub trait Events: 'static {
    /// Sets every core's event register, after all that this core wrote before has become visible.
    /// May be called from interrupt handlers.
    fn send();

    /// Halts until this core's event register is set, and clears it. May return for no reason.
    fn wait();
}
