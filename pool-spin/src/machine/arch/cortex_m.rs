//! Arm Cortex-M: ARMv6-M, ARMv7-M, ARMv8-M.

use core::arch::asm;

use crate::machine::{Events, Interrupts};

/// The interrupts of a core, by `PRIMASK`, and its events.
#[derive(Debug, Clone, Copy)]
pub struct CortexM(());

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
        // SAFETY: as in `mask`; the value came from there. Handlers that run now save what they
        // use.
        unsafe { asm!("msr PRIMASK, {}", "isb", in(reg) state, options(nostack, preserves_flags)) };
    }

    #[inline]
    fn halt() {
        // The barrier completes what was written, to devices too, before the halt.
        // SAFETY: halts until an interrupt is pending, also one that PRIMASK masks. Memory counts
        // as clobbered; registers and flags are kept.
        unsafe { asm!("dsb", "wfi", options(nostack, preserves_flags)) };
    }
}

impl Events for CortexM {
    #[inline]
    fn send() {
        // `sev` is not ordered after stores; the barrier is, and completes them.
        // SAFETY: changes event registers only. Memory counts as clobbered; registers and flags
        // are kept.
        unsafe { asm!("dsb", "sev", options(nostack, preserves_flags)) };
    }

    #[inline]
    fn wait() {
        // SAFETY: halts at most until an event. Memory counts as clobbered; registers and flags are
        // kept.
        unsafe { asm!("wfe", options(nostack, preserves_flags)) };
    }
}
