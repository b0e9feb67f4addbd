//! Interrupts from hart to hart.

use core::arch::asm;

use pool_spin::{Ipi, arch::MachineMode};
use riscv::register::mhartid;

use crate::clint;

/// The software interrupt of the core-local interruptor. A core's number is its hart's.
///
/// # Liveness
/// The sender writes memory (the parker's token), then `MSIP` = 1; the fence between them keeps
/// this order for all harts. The hart that wakes writes `MSIP` = 0, then reads memory; again a
/// fence keeps the order. The interruptor sees the two writes in one order:
///
/// - First 1, then 0: the interrupt is lost. But the write to memory precedes the 1 and so the 0,
///   and the read after the 0 finds it.
/// - First 0, then 1: the interrupt is pending, and ends the next halt.
///
/// The order of atomic operations alone would not suffice: it covers memory, and `MSIP` is a
/// device.
#[derive(Debug)]
pub struct SoftwareInterrupt;

impl Ipi for SoftwareInterrupt {
    type Interrupts = MachineMode;

    fn this_core() -> usize {
        mhartid::read()
    }

    fn send(core: usize) {
        // SAFETY: `fence w, o` orders earlier writes to memory before later writes to devices; it
        // changes no register. Not `nomem`: the compiler keeps the order, too.
        unsafe { asm!("fence w, o", options(nostack, preserves_flags)) };
        clint::set_software_interrupt(core, true);
    }

    fn clear() {
        clint::set_software_interrupt(mhartid::read(), false);
        // SAFETY: `fence o, rw` orders earlier writes to devices before later accesses to memory;
        // the rest as in `send`.
        unsafe { asm!("fence o, rw", options(nostack, preserves_flags)) };
    }
}
