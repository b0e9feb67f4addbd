//! RISC-V, 32 and 64 bits.

use core::arch::asm;

use crate::machine::Interrupts;

/// The interrupts of a hart, by the interrupt-enable bit of one status register.
macro_rules! mode {
    ($(#[$meta:meta])* $name:ident, $status:literal, $bit:literal) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(());

        impl Interrupts for $name {
            /// The status register.
            type State = usize;

            #[inline]
            fn mask() -> usize {
                let state;
                // SAFETY: clears the hart's interrupt-enable bit and nothing else. Memory counts as
                // clobbered; there are no flags.
                unsafe {
                    asm!(
                        concat!("csrrci {}, ", $status, ", ", $bit),
                        out(reg) state,
                        options(nostack, preserves_flags)
                    );
                }
                state
            }

            #[inline]
            fn restore(state: usize) {
                // SAFETY: sets the bit if it was set, and nothing else. Handlers that run now save
                // what they use.
                unsafe {
                    asm!(
                        concat!("csrs ", $status, ", {}"),
                        in(reg) state & $bit,
                        options(nostack, preserves_flags)
                    );
                }
            }

            #[inline]
            fn halt() {
                // The fence completes what was written, to devices too, before the halt.
                // SAFETY: halts until an interrupt is pending that is enabled by itself, whatever
                // the status register says. Memory counts as clobbered; registers are kept.
                unsafe { asm!("fence iorw, iorw", "wfi", options(nostack, preserves_flags)) };
            }
        }
    };
}

mode!(
    /// The interrupts of a hart in machine mode. To be woken, enable the interrupt itself in `mie`.
    MachineMode,
    "mstatus",
    8
);
mode!(
    /// The interrupts of a hart in supervisor mode. To be woken, enable the interrupt itself in
    /// `sie`.
    SupervisorMode,
    "sstatus",
    2
);
