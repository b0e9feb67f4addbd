//! The clock: a counter outside the cores.

use core::time::Duration;

use crate::registers::{Device, Register};

/// The input of the counter, in ticks per microsecond.
const TICKS_PER_MICROSECOND: u32 = 20;

/// The board's own registers, for lights, buttons and counters.
// SAFETY: 1. The registers are there, and touch no memory.
const FPGAIO: Device = unsafe { Device::at(0x5030_2000) };
const COUNTER: Register = FPGAIO.register(0x18);
const PRESCALE: Register = FPGAIO.register(0x1C);

/// Makes the counter count microseconds.
pub fn start() {
    PRESCALE.write(TICKS_PER_MICROSECOND - 1);
}

/// Returns the time since some moment before the program began.
///
/// Wraps around after 2³² microseconds, which are 71 minutes. A run takes seconds.
pub fn now() -> Duration {
    Duration::from_micros(COUNTER.read().into())
}
