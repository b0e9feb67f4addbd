//! The timer that interrupts once: CMSDK APB timer 0.

use core::time::Duration;

use crate::registers::{Device, Register};

/// The input of the timer, in ticks per microsecond.
const TICKS_PER_MICROSECOND: u128 = 20;

// SAFETY: 1. The registers are there, and touch no memory.
const TIMER0: Device = unsafe { Device::at(0x5000_0000) };
const CTRL: Register = TIMER0.register(0x0);
const VALUE: Register = TIMER0.register(0x4);
const RELOAD: Register = TIMER0.register(0x8);
const INTCLEAR: Register = TIMER0.register(0xC);

/// The timer counts.
const CTRL_ENABLE: u32 = 1 << 0;
/// The timer interrupts at zero.
const CTRL_INTERRUPT: u32 = 1 << 3;

/// Interrupts the first core once, after this time: at most 214 seconds.
pub fn start(delay: Duration) {
    let ticks = delay.as_micros().saturating_mul(TICKS_PER_MICROSECOND);
    silence();
    // No value is loaded at zero, so the timer stays there.
    RELOAD.write(0);
    // A timer that starts at zero would never reach zero again.
    VALUE.write(u32::try_from(ticks).unwrap_or(u32::MAX).max(1));
    CTRL.write(CTRL_ENABLE | CTRL_INTERRUPT);
}

/// Stops the timer and clears its interrupt.
pub fn silence() {
    CTRL.write(0);
    INTCLEAR.write(1);
    // The line to the interrupt controller must fall before the handler returns, or it would run
    // again.
    cortex_m::asm::dsb();
}
