//! The first core's interrupts and faults. The second takes no interrupts.

use cortex_m::{interrupt::InterruptNumber, peripheral::NVIC};
use cortex_m_rt::{ExceptionFrame, exception};
use pool_spin::Ipi as _;

use crate::{ipi::Mhu, timer};

/// The interrupts that the board uses, by their number.
#[derive(Clone, Copy)]
#[repr(u16)]
pub enum Interrupt {
    /// CMSDK APB timer 0, for both cores.
    Timer0 = 3,
    /// Message handling unit 0: each core has its own.
    Mhu0 = 6,
}

// SAFETY: the controller has all these numbers, and each interrupt's number never changes.
unsafe impl InterruptNumber for Interrupt {
    fn number(self) -> u16 {
        self as u16
    }
}

/// Enables the timer's interrupt on the calling core, the first.
pub fn enable() {
    // SAFETY: no critical section is built on this mask, and there is a handler.
    unsafe { NVIC::unmask(Interrupt::Timer0) };
}

/// Handles all interrupts: the vector table has no handlers for particular ones.
#[exception]
unsafe fn DefaultHandler(number: i16) {
    const TIMER0: i16 = Interrupt::Timer0 as i16;
    const MHU0: i16 = Interrupt::Mhu0 as i16;
    match number {
        TIMER0 => {
            timer::silence();
            program::timer_interrupt();
        }
        MHU0 => Mhu::clear(),
        other => panic!("unexpected exception {other}"),
    }
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    panic!("fault on the first core: {frame:?}");
}
