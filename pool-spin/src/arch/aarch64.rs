//! AArch64.

use core::arch::asm;

use crate::interrupts::Interrupts;

/// The interrupts (IRQ and FIQ) of a core that runs at EL1 or above.
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

/// Halts until this core's event register is set, and clears it. May return for no reason.
#[inline]
pub fn wait_for_event() {
    // SAFETY: halts at most until an event. Memory counts as clobbered; registers and flags are
    // kept.
    unsafe { asm!("wfe", options(nostack, preserves_flags)) };
}

/// Sets every core's event register, after all that this core wrote before has become visible.
#[inline]
pub fn send_event() {
    // `sev` is not ordered after stores; the barrier is, and completes them.
    // SAFETY: changes event registers only. Memory counts as clobbered; registers and flags are
    // kept.
    unsafe { asm!("dsb ishst", "sev", options(nostack, preserves_flags)) };
}
