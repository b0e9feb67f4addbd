//! The interrupts that are enabled on a hart, and their handlers.
//!
//! A handler must not use floating point: `riscv-rt` saves only the integer registers.

use pool_spin::Ipi as _;
use riscv::{
    interrupt::Interrupt,
    register::{mie, mscratch},
};

use crate::{ipi::SoftwareInterrupt, timer};

/// Prepares the calling hart for the pool. Interrupts stay masked: a pending one ends `wfi` all the
/// same, so harts without handlers need nothing else.
pub fn prepare() {
    // `mtimecmp` and `mscratch` may hold anything after a reset.
    timer::silence();
    // SAFETY: neither `riscv-rt` nor a handler uses `mscratch`, and the pool does not use it yet.
    unsafe { mscratch::write(0) };
    // Clears the interrupt that let this hart start.
    SoftwareInterrupt::clear();
    // SAFETY: each of the two has a handler.
    unsafe {
        mie::set_msoft();
        mie::set_mtimer();
    }
}

/// Enables interrupts on the calling hart: handlers may run from here on.
pub fn enable() {
    // SAFETY: the hart is prepared and in no critical section, and the handlers may run between any
    // two instructions.
    unsafe { riscv::interrupt::enable() };
}

#[riscv_rt::core_interrupt(Interrupt::MachineTimer)]
fn timer() {
    timer::silence();
    program::timer_interrupt();
}

/// Clears an interrupt that arrived just after the hart had found its token and continued.
#[riscv_rt::core_interrupt(Interrupt::MachineSoft)]
fn software() {
    SoftwareInterrupt::clear();
}
