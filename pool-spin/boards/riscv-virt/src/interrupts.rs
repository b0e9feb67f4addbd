//! Interrupts of a hart: which are enabled, and their handlers.
//!
//! A handler may use no floating point: `riscv-rt` saves the integer registers alone.

use pool_spin::Ipi as _;
use riscv::{
    interrupt::Interrupt,
    register::{mie, mscratch},
};

use crate::{ipi::SoftwareInterrupt, timer};

/// Prepares the hart that calls for the pool. Interrupts stay masked, which is all that harts
/// without handlers of their own need: a pending one ends `wfi` all the same.
pub fn prepare() {
    // `mtimecmp` and `mscratch` hold anything at reset.
    timer::silence();
    // SAFETY: neither `riscv-rt` nor a handler uses `mscratch`, and the pool not yet.
    unsafe { mscratch::write(0) };
    // The one that let this hart start.
    SoftwareInterrupt::clear();
    // SAFETY: there is a handler for each of the two.
    unsafe {
        mie::set_msoft();
        mie::set_mtimer();
    }
}

/// From here on, handlers run on the hart that calls.
pub fn enable() {
    // SAFETY: the hart is prepared, it is in no critical section, and the handlers do only what may
    // be done in the middle of anything.
    unsafe { riscv::interrupt::enable() };
}

#[riscv_rt::core_interrupt(Interrupt::MachineTimer)]
fn timer() {
    timer::silence();
    program::timer_interrupt();
}

/// Somebody woke this hart just before it ran again by itself.
#[riscv_rt::core_interrupt(Interrupt::MachineSoft)]
fn software() {
    SoftwareInterrupt::clear();
}
