//! The interrupts that are enabled on a hart, and their handlers.
//!
//! A handler must not use floating point: `riscv-rt` saves only the integer registers.

use pool_spin::Ipi as _;
use riscv::{
    interrupt::Interrupt,
    register::{sie, sscratch},
};

use crate::{ipi::SoftwareInterrupt, timer};

/// Prepares the calling hart for the pool. Interrupts stay masked: a pending one ends `wfi` all the
/// same, so harts without handlers need nothing else.
pub fn prepare() {
    // The firmware may have left either of them pending.
    timer::silence();
    SoftwareInterrupt::clear();
    // SAFETY: neither `riscv-rt` nor a handler uses `sscratch`, and the pool does not use it yet.
    unsafe { sscratch::write(0) };
    // SAFETY: each of the two has a handler.
    unsafe {
        sie::set_ssoft();
        sie::set_stimer();
    }
}

/// Enables interrupts on the calling hart: handlers may run from here on.
pub fn enable() {
    // SAFETY: the hart is prepared and in no critical section, and the handlers may run between any
    // two instructions.
    unsafe { riscv::interrupt::enable() };
}

#[riscv_rt::core_interrupt(Interrupt::SupervisorTimer)]
fn timer() {
    timer::silence();
    program::timer_interrupt();
}

/// Clears an interrupt that arrived just after the hart had found its token and gone on.
#[riscv_rt::core_interrupt(Interrupt::SupervisorSoft)]
fn software() {
    SoftwareInterrupt::clear();
}
