//! The time, and an interrupt after a delay.

use core::time::Duration;

use riscv::register::time;

/// The clock's frequency: `timebase-frequency` in the device tree.
const HZ: u64 = 10_000_000;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Returns the time on the clock that all harts share.
pub fn now() -> Duration {
    let ticks = time::read64();
    let part = (ticks % HZ) * NANOS_PER_SECOND / HZ;
    Duration::from_secs(ticks / HZ) + Duration::from_nanos(part)
}

/// Makes the timer interrupt this hart, once, not before this time has passed.
pub fn interrupt_after(delay: Duration) {
    let part = u64::from(delay.subsec_nanos()) * HZ;
    let ticks = delay.as_secs() * HZ + part.div_ceil(NANOS_PER_SECOND);
    // One more tick for the one that has begun.
    set(time::read64() + ticks + 1);
}

/// Silences this hart's timer: clears its interrupt, and lets it interrupt no more.
pub fn silence() {
    set(u64::MAX);
}

/// Makes the timer interrupt of this hart pending from this time on, and not before.
fn set(time: u64) {
    assert!(sbi_rt::set_timer(time).is_ok(), "the firmware has no timer");
}
