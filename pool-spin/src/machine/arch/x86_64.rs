//! x86-64.

use core::arch::asm;

use crate::machine::Interrupts;

/// The interrupts of a core that runs in ring 0.
#[derive(Debug, Clone, Copy)]
pub struct X86_64(());

/// The interrupt flag in `RFLAGS`.
const INTERRUPT_FLAG: u64 = 1 << 9;

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

    /// Interrupts are taken during the halt: an x86 processor leaves it for no masked one.
    #[inline]
    fn halt() {
        // `sti` takes effect after the instruction that follows it, so an interrupt that is pending
        // now ends the halt, and cannot come between the two.
        // SAFETY: handlers that run save what they use; they use the stack below ours, so there is
        // no `nostack`. Memory counts as clobbered.
        unsafe { asm!("sti", "hlt", "cli") };
    }
}
