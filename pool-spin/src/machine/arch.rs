//! `Interrupts` and `Events` of the usual architectures.
//!
//! No instruction here is `nomem`: other cores write what a halt waits for, so the compiler must
//! not move accesses to memory across it.

use core::arch::asm;

#[cfg(any(target_arch = "aarch64", all(target_arch = "arm", target_os = "none")))]
use super::Events;
use super::Interrupts;

/// The interrupts (IRQ and FIQ) and events of a core that runs at EL1 or above.
#[cfg(target_arch = "aarch64")]
#[derive(Debug, Clone, Copy)]
pub struct Aarch64(());

#[cfg(target_arch = "aarch64")]
impl Interrupts for Aarch64 {
    /// `DAIF`.
    type State = u64;

    #[inline]
    fn mask() -> u64 {
        let state;
        // SAFETY: changes the core's interrupt mask, bits I and F, and nothing else. Memory counts
        // as clobbered, and so do the flags, although `msr` does not write them: `preserves_flags`
        // would gain nothing.
        unsafe { asm!("mrs {}, daif", "msr daifset, #3", out(reg) state, options(nostack)) };
        state
    }

    #[inline]
    fn restore(state: u64) {
        // Without the barrier, the core takes a pending interrupt some time later: perhaps only
        // when interrupts are masked again, and so never in a loop that masks and restores.
        // SAFETY: as in `mask`, which returned the value. Handlers that run now save what they use.
        unsafe { asm!("msr daif, {}", "isb", in(reg) state, options(nostack)) };
    }

    #[inline]
    fn halt() {
        // The barrier completes earlier writes, also those to interrupt controllers, before the
        // halt.
        // SAFETY: halts until an interrupt is pending, masked or not. Memory counts as clobbered;
        // registers and flags are preserved.
        unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
impl Events for Aarch64 {
    #[inline]
    fn send() {
        // `sev` alone is not ordered after stores; the barrier completes them first.
        // SAFETY: changes event registers only. Memory counts as clobbered; registers and flags are
        // preserved.
        unsafe { asm!("dsb ishst", "sev", options(nostack, preserves_flags)) };
    }

    #[inline]
    fn wait() {
        // `wfe` alone is not ordered before later loads. With the barrier the core begins them only
        // when it has cleared the register.
        // SAFETY: halts at most until an event. Memory counts as clobbered; registers and flags are
        // preserved.
        unsafe { asm!("wfe", "isb", options(nostack, preserves_flags)) };
    }
}

/// The interrupts of a core, by `PRIMASK`, and its events.
#[cfg(all(target_arch = "arm", target_os = "none"))]
#[derive(Debug, Clone, Copy)]
pub struct CortexM(());

#[cfg(all(target_arch = "arm", target_os = "none"))]
impl Interrupts for CortexM {
    /// `PRIMASK`.
    type State = u32;

    #[inline]
    fn mask() -> u32 {
        let state;
        // SAFETY: changes the core's interrupt mask and nothing else. Memory counts as clobbered;
        // neither instruction writes condition flags.
        unsafe {
            asm!("mrs {}, PRIMASK", "cpsid i", out(reg) state, options(nostack, preserves_flags));
        }
        state
    }

    #[inline]
    fn restore(state: u32) {
        // The barrier lets handlers of pending interrupts run before the next instruction.
        // SAFETY: as in `mask`, which returned the value. Handlers that run now save what they use.
        unsafe { asm!("msr PRIMASK, {}", "isb", in(reg) state, options(nostack, preserves_flags)) };
    }

    #[inline]
    fn halt() {
        // The barrier completes earlier writes, also those to devices, before the halt.
        // SAFETY: halts until an interrupt is pending, even one that PRIMASK masks. Memory counts
        // as clobbered; registers and flags are preserved.
        unsafe { asm!("dsb", "wfi", options(nostack, preserves_flags)) };
    }
}

#[cfg(all(target_arch = "arm", target_os = "none"))]
impl Events for CortexM {
    #[inline]
    fn send() {
        // `sev` alone is not ordered after stores; the barrier completes them first.
        // SAFETY: changes event registers only. Memory counts as clobbered; registers and flags are
        // preserved.
        unsafe { asm!("dsb", "sev", options(nostack, preserves_flags)) };
    }

    #[inline]
    fn wait() {
        // `wfe` alone is not ordered before later loads. With the barrier the core begins them only
        // when it has cleared the register.
        // SAFETY: halts at most until an event. Memory counts as clobbered; registers and flags are
        // preserved.
        unsafe { asm!("wfe", "isb", options(nostack, preserves_flags)) };
    }
}

/// The interrupts of a hart, by the interrupt-enable bit of one status register.
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
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
                // The fence completes earlier writes, also those to devices, before the halt.
                // SAFETY: halts until an interrupt is pending that is enabled individually,
                // whatever the status register says. Memory counts as clobbered; registers are
                // preserved.
                unsafe { asm!("fence iorw, iorw", "wfi", options(nostack, preserves_flags)) };
            }
        }
    };
}

#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
mode!(
    /// The interrupts of a hart in machine mode. To be woken, a hart enables the interrupt in
    /// `mie`.
    MachineMode,
    "mstatus",
    8
);
#[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
mode!(
    /// The interrupts of a hart in supervisor mode. To be woken, a hart enables the interrupt in
    /// `sie`.
    SupervisorMode,
    "sstatus",
    2
);

/// The interrupts of a core that runs in ring 0.
///
/// # Examples
/// ```
/// use pool_spin::{HltIpi, Ipi, arch::X86_64};
///
/// struct Apic;
///
/// impl Ipi for Apic {
///     type Interrupts = X86_64;
///
///     fn this_core() -> usize {
///         0 // from the local APIC
///     }
///
///     fn send(_core: usize) {
///         // writes the interrupt command register
///     }
///
///     fn clear() {}
/// }
///
/// static PARKER: HltIpi<Apic> = HltIpi::new();
/// ```
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy)]
pub struct X86_64(());

/// The interrupt flag in `RFLAGS`.
#[cfg(target_arch = "x86_64")]
const INTERRUPT_FLAG: u64 = 1 << 9;

#[cfg(target_arch = "x86_64")]
impl Interrupts for X86_64 {
    /// `RFLAGS`.
    type State = u64;

    #[inline]
    fn mask() -> u64 {
        let state;
        // SAFETY: clears the interrupt flag and nothing else; uses the stack, so there is no
        // `nostack`. Memory counts as clobbered.
        unsafe { asm!("pushfq", "pop {}", "cli", out(reg) state) };
        state
    }

    #[inline]
    fn restore(state: u64) {
        if state & INTERRUPT_FLAG != 0 {
            // SAFETY: sets the interrupt flag. Handlers that run now save what they use; they use
            // the stack below ours, so there is no `nostack`.
            unsafe { asm!("sti") };
        }
    }

    /// Halts with interrupts enabled: no masked interrupt would end the halt of an x86 processor.
    #[inline]
    fn halt() {
        // `sti` takes effect after the instruction that follows it. So an interrupt that is pending
        // now ends the halt, and cannot be taken between the two instructions.
        // SAFETY: handlers that run save what they use; they use the stack below ours, so there is
        // no `nostack`. Memory counts as clobbered.
        unsafe { asm!("sti", "hlt", "cli") };
    }
}
