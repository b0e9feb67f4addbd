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

/// Lets the timer count.
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

/// The time since the start. Begins anew after 2³² microseconds, 71 minutes: a run takes seconds.
pub fn now() -> Duration {
    Duration::from_micros(microseconds().into())
}

/// Interrupts once, after this time: at most 71 minutes.
pub fn interrupt_after(delay: Duration) {
    let delay = u32::try_from(delay.as_micros()).unwrap_or(u32::MAX);
    silence();
    let begin = microseconds();
    TIMER0.cc(DEADLINE).write_value(begin.wrapping_add(delay));
    // The counter may have passed the deadline before that was written. Then it does not come
    // there for 71 minutes.
    if microseconds().wrapping_sub(begin) >= delay {
        NVIC::pend(Interrupt::TIMER0);
    } else {
        // If the deadline comes first, the event is there already, and interrupts now.
        TIMER0
            .intenset()
            .write(|events| events.set_compare(DEADLINE, true));
    }
}

/// Takes back the interrupt.
pub fn silence() {
    TIMER0
        .intenclr()
        .write(|events| events.set_compare(DEADLINE, true));
    TIMER0.events_compare(DEADLINE).write_value(0);
    // The line to the interrupt controller falls before a handler returns, or it would run again.
    dsb();
}

/// What the counter shows.
fn microseconds() -> u32 {
    // A handler that comes between the two steps captures too: then this is the later time.
    TIMER0.tasks_capture(CAPTURE).write_value(1);
    TIMER0.cc(CAPTURE).read()
}
