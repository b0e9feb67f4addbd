//! Interrupts from hart to hart.

use core::arch::asm;

use pool_spin::{Ipi, arch::SupervisorMode};
use sbi_rt::HartMask;

use crate::harts;

/// The supervisor's software interrupt, which the firmware makes pending. A core's number is its
/// hart's.
///
/// # Liveness
/// The sender writes memory (the parker's token), then asks the firmware. The firmware interrupts
/// the other hart in machine mode, and sets the bit `SSIP` in that hart's own `sip`. It does so
/// between two instructions of the hart that wakes, which clears the bit and then reads memory:
///
/// - Before the clearing: the interrupt is lost. But the firmware had the request by then, so the
///   write to memory came before, and the read finds it.
/// - After the clearing: the interrupt is pending, and ends the next halt.
///
/// The fences make "before" hold for memory as the other hart sees it. The SBI does not say that
/// the firmware has a barrier in each of the two steps.
#[derive(Debug)]
pub struct SoftwareInterrupt;

impl Ipi for SoftwareInterrupt {
    type Interrupts = SupervisorMode;

    fn this_core() -> usize {
        harts::this_hart()
    }

    fn send(core: usize) {
        // SAFETY: `fence w, ow` orders earlier writes to memory before the firmware's writes, to
        // memory or a device; it changes no register. Not `nomem`: the compiler keeps the order,
        // too.
        unsafe { asm!("fence w, ow", options(nostack, preserves_flags)) };
        let sent = sbi_rt::send_ipi(HartMask::from_mask_base(1, core));
        assert!(
            sent.is_ok(),
            "the firmware sends no interrupt to hart {core}"
        );
    }

    fn clear() {
        // SAFETY: clears SSIP in this hart's `sip`, which only the parkers wait for. To fences,
        // reading and writing such a register is device input and output: `fence io, rw` orders
        // later accesses to memory after it. Otherwise as in `send`.
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
