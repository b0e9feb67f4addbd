//! Interrupts from hart to hart.

use core::arch::asm;

use pool_spin::{Ipi, arch::SupervisorMode};
use sbi_rt::HartMask;

use crate::harts;

/// The supervisor's software interrupt, which the firmware makes pending. A core's number is its
/// hart's.
///
/// # Liveness
/// Whoever sends writes memory (the parker's token), then asks the firmware. That interrupts the
/// other hart in machine mode, whose firmware sets the bit `SSIP` in the hart's own `sip`. It does
/// so between two instructions of the hart that is woken, which clears the bit and then reads
/// memory:
///
/// - Before the clearing: the interrupt is lost, but the firmware had the request by then, so what
///   was written before is there, and the read finds it.
/// - After it: the interrupt is pending, and ends the next halt.
///
/// The fences are what makes "before" hold for memory as seen by the other hart. That the firmware
/// has a barrier in each of the two is not said by the SBI.
#[derive(Debug)]
pub struct SoftwareInterrupt;

impl Ipi for SoftwareInterrupt {
    type Interrupts = SupervisorMode;

    fn this_core() -> usize {
        harts::this_hart()
    }

    fn send(core: usize) {
        // SAFETY: `fence w, ow` has what was written to memory before what the firmware writes, to
        // memory or a device; it changes no register. Not `nomem`: the compiler keeps the order too.
        unsafe { asm!("fence w, ow", options(nostack, preserves_flags)) };
        let sent = sbi_rt::send_ipi(HartMask::from_mask_base(1, core));
        assert!(
            sent.is_ok(),
            "the firmware sends no interrupt to hart {core}"
        );
    }

    fn clear() {
        // SAFETY: clears SSIP in this hart's `sip`, which nobody but the parkers waits for. To fences,
        // reading and writing such a register is device input and output: `fence io, rw` has memory
        // read and written after it. Otherwise as in `send`.
        unsafe {
            asm!(
                "csrci sip, {ssip}",
                "fence io, rw",
                ssip = const 1 << 1,
                options(nostack, preserves_flags)
            );
        }
    }
}
