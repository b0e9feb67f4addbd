//! The timer of each core's local APIC.

use core::time::Duration;

use spin::Once;

use crate::{clock, interrupts, local_apic};

/// The time of one measurement of the frequency, and the number of measurements.
const MEASUREMENT: Duration = Duration::from_millis(5);
const MEASUREMENTS: usize = 3;

/// The frequency of the timer in hertz, which is the same on all cores.
static FREQUENCY: Once<u64> = Once::new();

/// Measures the frequency of the timer by the clock: no register has it on every processor.
pub fn init() {
    FREQUENCY.call_once(|| (0..MEASUREMENTS).fold(u64::MAX, |least, _| least.min(measure())));
}

/// Returns the counts per second or more, never less: otherwise the timer would interrupt too
/// early.
///
/// The timer counts from before the measured time until after it. Where the core loses time between
/// the two, as a virtual one may at any instruction, the result is much too high. So the least
/// measurement is the best.
fn measure() -> u64 {
    local_apic::start_timer(u32::MAX, None);
    let start = clock::now();
    clock::wait(MEASUREMENT);
    let time = clock::now() - start;
    let counted = u32::MAX - local_apic::timer_count();
    local_apic::start_timer(0, None);
    (u128::from(counted) * 1_000_000_000).div_ceil(time.as_nanos()) as u64
}

/// Interrupts the calling core, once, after this time or a little later.
///
/// # Panics
/// If [`init`] has not been called, or if the time is too long for the timer: a minute at 1 GHz.
pub fn interrupt_after(delay: Duration) {
    let frequency = *FREQUENCY.get().expect("the timer was not measured");
    let count = (delay.as_nanos() * u128::from(frequency)).div_ceil(1_000_000_000);
    // A count of zero would stop the timer.
    let count = u32::try_from(count.max(1)).expect("a time that the timer can count");
    local_apic::start_timer(count, Some(interrupts::TIMER));
}
