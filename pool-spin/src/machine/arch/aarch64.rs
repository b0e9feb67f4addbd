//! AArch64.

use core::arch::asm;

use crate::machine::{Events, Interrupts};

/// The interrupts (IRQ and FIQ) and events of a core that runs at EL1 or above.
#[derive(Debug, Clone, Copy)]
pub struct Aarch64(());

impl Interrupts for Aarch64 {
    /// `DAIF`.
    type State = u64;

    #[inline]
    fn mask() -> u64 {
        let state;
        // SAFETY: changes the core's interrupt mask, bits I and F, and nothing else. Memory counts
        // as clobbered. `msr` writes no condition flags, but the option is left out for `mask` as
        // for `restore`: nothing is gained by it.
        unsafe { asm!("mrs {}, daif", "msr daifset, #3", out(reg) state, options(nostack)) };
        state
    }

    #[inline]
    fn restore(state: u64) {
        // Without the barrier a pending interrupt is taken some time later: perhaps only after
        // interrupts were masked again, and so never in a loop that masks and restores.
        // SAFETY: as in `mask`; the value came from there. Handlers that run now save what they
        // use.
        unsafe { asm!("msr daif, {}", "isb", in(reg) state, options(nostack)) };
    }

    #[inline]
    fn halt() {
        // The barrier completes what was written, to interrupt controllers too, before the halt.
        // SAFETY: halts until an interrupt is pending, masked or not. Memory counts as clobbered;
        // registers and flags are kept.
        unsafe { asm!("dsb sy", "wfi", options(nostack, preserves_flags)) };
    }
}

impl Events for Aarch64 {
    #[inline]
    fn send() {
        // `sev` is not ordered after stores; the barrier is, and completes them.
        // SAFETY: changes event registers only. Memory counts as clobbered; registers and flags
        // are kept.
        unsafe { asm!("dsb ishst", "sev", options(nostack, preserves_flags)) };
    }

    #[inline]
    fn wait() {
        // SAFETY: halts at most until an event. Memory counts as clobbered; registers and flags are
        // kept.
        unsafe { asm!("wfe", options(nostack, preserves_flags)) };
    }
}
