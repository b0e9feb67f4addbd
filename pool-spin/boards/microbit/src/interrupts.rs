//! The handlers of interrupts and faults.

use cortex_m::peripheral::NVIC;
use cortex_m_rt::{ExceptionFrame, exception};
use nrf_pac::{Interrupt, interrupt};
use pool_spin::Ipi as _;

use crate::{ipi::OwnInterrupt, timer};

/// Enables the interrupts that have handlers here.
pub fn enable() {
    for interrupt in [Interrupt::TIMER0, Interrupt::SWI0] {
        // SAFETY: no critical section is built on this mask, and there is a handler.
        unsafe { NVIC::unmask(interrupt) };
    }
}

#[interrupt]
fn TIMER0() {
    timer::silence();
    program::timer_interrupt();
}

#[interrupt]
fn SWI0() {
    OwnInterrupt::clear();
}

#[exception]
unsafe fn DefaultHandler(number: i16) {
    panic!("unexpected exception {number}");
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("fault: {frame:?}");
}
