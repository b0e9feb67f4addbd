//! The timer of each core's local APIC.

use core::time::Duration;

use spin::Once;

use crate::{clock, interrupts, local_apic};

/// How long the frequency is measured, and how often.
const MEASUREMENT: Duration = Duration::from_millis(5);
const MEASUREMENTS: usize = 3;

/// How often the timer counts, in hertz: the same on all cores.
static FREQUENCY: Once<u64> = Once::new();

/// Measures by the clock how fast the timer is, which no register says on every processor.
pub fn init() {
    FREQUENCY.call_once(|| (0..MEASUREMENTS).fold(u64::MAX, |least, _| least.min(measure())));
}

/// Counts per second, or more, but never less, or else the timer would interrupt too early: it
/// counts from before the time begins until after it has ended. Where the core loses time between
/// the two (a virtual one may, at any instruction) that is a lot more; the least measurement is the
/// best.
fn measure() -> u64 {
    local_apic::start_timer(u32::MAX, None);
    let start = clock::now();
    clock::wait(MEASUREMENT);
    let time = clock::now() - start;
    let counted = u32::MAX - local_apic::timer_count();
    local_apic::start_timer(0, None);
    (u128::from(counted) * 1_000_000_000).div_ceil(time.as_nanos()) as u64
}

/// Interrupts the core that calls, once, after this time, or a little later.
///
/// # Panics
/// Before [`init`], and if the time is too long for the timer: a minute for one of 1 GHz.
pub fn interrupt_after(delay: Duration) {
    let frequency = *FREQUENCY.get().expect("the timer was not measured");
    let count = (delay.as_nanos() * u128::from(frequency)).div_ceil(1_000_000_000);
    // A count of zero would stop the timer.
    let count = u32::try_from(count.max(1)).expect("a time that the timer can count");
    local_apic::start_timer(count, Some(interrupts::TIMER));
}
