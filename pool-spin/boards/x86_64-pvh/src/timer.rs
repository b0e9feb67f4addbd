//! The timer of each core's local APIC.

use core::time::Duration;

use spin::Once;

use crate::{clock, interrupts, local_apic};

/// How long the frequency is measured.
const MEASUREMENT: Duration = Duration::from_millis(10);

/// How often the timer counts, in hertz: the same on all cores.
static FREQUENCY: Once<u64> = Once::new();

/// Measures by the clock how fast the timer is, which no register says on every processor.
pub fn init() {
    local_apic::start_timer(u32::MAX, None);
    let start = clock::now();
    clock::wait(MEASUREMENT);
    let counted = u32::MAX - local_apic::timer_count();
    let time = clock::now() - start;
    local_apic::start_timer(0, None);
    let frequency = u128::from(counted) * 1_000_000_000 / time.as_nanos();
    FREQUENCY.call_once(|| frequency as u64);
}

/// Interrupts the core that calls, once, after this time, or a little later.
///
/// # Panics
/// Before [`init`], and if the time is too long for the timer: a minute for one of 1 GHz.
pub fn interrupt_after(delay: Duration) {
    let frequency = *FREQUENCY.get().expect("the timer was not measured");
    let count = delay.as_nanos() * u128::from(frequency) / 1_000_000_000 + 1;
    let count = count.try_into().expect("a time that the timer can count");
    local_apic::start_timer(count, Some(interrupts::TIMER));
}
