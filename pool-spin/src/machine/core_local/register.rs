//! Core-local pointers in a register that the architecture leaves to the software.

use core::arch::asm;

use super::CoreLocal;

/// A core-local pointer in one register. The instructions touch no memory; they are ordered among
/// each other since none is `pure`.
macro_rules! register {
    ($(#[$meta:meta])* $name:ident, $read:literal, $write:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        // SAFETY: 1. the register is the core's own, and whoever names this type in a `Machine` promises
        // the rest.
        unsafe impl CoreLocal for $name {
            #[inline]
            fn get() -> *const () {
                let pointer;
                // SAFETY: reads one register, and changes neither memory, stack nor flags.
                unsafe { asm!($read, out(reg) pointer, options(nomem, nostack, preserves_flags)) };
                pointer
            }

            #[inline]
            unsafe fn set(pointer: *const ()) {
                // SAFETY: as in `get`; nobody else gives the register a meaning.
                unsafe { asm!($write, in(reg) pointer, options(nomem, nostack, preserves_flags)) };
            }
        }
    };
}

#[cfg(target_arch = "aarch64")]
register!(
    /// The pointer is in `TPIDR_EL1`, which must hold null when the core first uses the pool, and
    /// be used for nothing else. Software at EL1.
    TpidrEl1,
    "mrs {}, tpidr_el1",
    "msr tpidr_el1, {}"
);

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
register!(
    /// The pointer is in `mscratch`, which must hold null when the core first uses the pool, and
    /// be used for nothing else, by no trap handler either. Software in machine mode.
    Mscratch,
    "csrr {}, mscratch",
    "csrw mscratch, {}"
);

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
register!(
    /// The pointer is in `sscratch`, which must hold null when the core first uses the pool, and
    /// be used for nothing else, by no trap handler either. Software in supervisor mode.
    Sscratch,
    "csrr {}, sscratch",
    "csrw sscratch, {}"
);
