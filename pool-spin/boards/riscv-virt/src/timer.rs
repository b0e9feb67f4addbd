//! The time, and an interrupt after a delay.

use core::time::Duration;

use riscv::register::mhartid;

use crate::clint::{self, MTIME_HZ};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Returns the time on the clock that all harts share.
pub fn now() -> Duration {
    let ticks = clint::time();
    let part = (ticks % MTIME_HZ) * NANOS_PER_SECOND / MTIME_HZ;
    Duration::from_secs(ticks / MTIME_HZ) + Duration::from_nanos(part)
}

/// Makes the timer interrupt this hart, once, not before this time has passed.
pub fn interrupt_after(delay: Duration) {
    let part = u64::from(delay.subsec_nanos()) * MTIME_HZ;
    let ticks = delay.as_secs() * MTIME_HZ + part.div_ceil(NANOS_PER_SECOND);
    // One tick is added, because the current one has already begun.
    clint::set_timer(mhartid::read(), clint::time() + ticks + 1);
}

/// Silences this hart's timer: clears its interrupt, and prevents further ones.
pub fn silence() {
    clint::set_timer(mhartid::read(), u64::MAX);
}
