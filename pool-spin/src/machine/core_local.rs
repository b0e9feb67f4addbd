//! Finding the current worker: one pointer for each core.

mod numbered;
#[cfg(any(
    target_arch = "aarch64",
    target_arch = "riscv32",
    target_arch = "riscv64"
))]
mod register;

pub use numbered::{CoreNumber, CorePointer, Numbered};
#[cfg(target_arch = "aarch64")]
pub use register::TpidrEl1;
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
pub use register::{Mscratch, Sscratch};

/// One pointer for each core: how a job finds out on which worker it runs.
///
/// On a board, a register that the software may use as it likes (`TPIDR_EL1`, `mscratch`), or
/// [`Numbered`]: an array indexed by the core's number. On a host, a thread-local variable.
///
/// Pools of different types may share one; a core is a worker of one pool at a time. A worker that
/// waits for a pool of another type does nothing else meanwhile: let pools of different types not
/// wait for each other in a circle.
///
/// # Safety
/// 1. [`get`](Self::get) returns what [`set`](Self::set) was last given on the same core, or null
///    if there was nothing.
pub unsafe trait CoreLocal: 'static {
    /// This core's pointer.
    fn get() -> *const ();

    /// Changes this core's pointer.
    ///
    /// # Safety
    /// 1. Only a pool calls this: it follows the pointer.
    unsafe fn set(pointer: *const ());
}
