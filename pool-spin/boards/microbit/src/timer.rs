//! The clock, and the timer that interrupts once: both are timer 0, the only one of 32 bits.

use core::time::Duration;

use cortex_m::{asm::dsb, peripheral::NVIC};
use nrf_pac::{
    Interrupt, TIMER0,
    timer::vals::{Bitmode, Mode},
};

/// The timer counts at 16 MHz divided by two to this power: microseconds.
const PRESCALER: u8 = 4;

/// The comparison that interrupts.
const DEADLINE: usize = 0;
/// The comparison whose register takes the counter's value, to be read.
const CAPTURE: usize = 1;

/// Starts the timer.
pub fn start() {
    TIMER0.mode().write(|mode| mode.set_mode(Mode::Timer));
    TIMER0
        .bitmode()
        .write(|mode| mode.set_bitmode(Bitmode::_32bit));
    TIMER0
        .prescaler()
        .write(|scale| scale.set_prescaler(PRESCALER));
    TIMER0.tasks_clear().write_value(1);
    TIMER0.tasks_start().write_value(1);
}

/// Returns the time since the start.
///
/// Wraps around after 2³² microseconds, which are 71 minutes. A run takes seconds.
pub fn now() -> Duration {
    Duration::from_micros(microseconds().into())
}

/// Interrupts once, after this time: at most 71 minutes.
pub fn interrupt_after(delay: Duration) {
    let delay = u32::try_from(delay.as_micros()).unwrap_or(u32::MAX);
    silence();
    let begin = microseconds();
    TIMER0.cc(DEADLINE).write_value(begin.wrapping_add(delay));
    // The counter may have passed the deadline before it was written. Then it does not reach the
    // deadline again for 71 minutes.
    if microseconds().wrapping_sub(begin) >= delay {
        NVIC::pend(Interrupt::TIMER0);
    } else {
        // If the deadline has passed by now, the event is there already and interrupts at once.
        TIMER0
            .intenset()
            .write(|events| events.set_compare(DEADLINE, true));
    }
}

/// Clears and disables the interrupt.
pub fn silence() {
    TIMER0
        .intenclr()
        .write(|events| events.set_compare(DEADLINE, true));
    TIMER0.events_compare(DEADLINE).write_value(0);
    // The line to the interrupt controller must fall before the handler returns, or it would run
    // again.
    dsb();
}

/// Reads the counter.
fn microseconds() -> u32 {
    // A handler that runs between the two steps captures, too: then this is the later time.
    TIMER0.tasks_capture(CAPTURE).write_value(1);
    TIMER0.cc(CAPTURE).read()
}
