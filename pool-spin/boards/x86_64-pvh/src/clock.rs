//! The clock: the HPET, a device that all cores read.
//!
//! It reports its own frequency, it is the same for every core, and it agrees with the other timers
//! however QEMU executes the program. The processors' time-stamp counters are faster to read. But
//! their frequency must be measured, and only newer hardware promises that they agree.

use core::{hint, ptr, time::Duration};

use spin::Once;

/// The address of the registers.
const BASE: usize = 0xfed0_0000;

/// The registers, by their offset from [`BASE`]. They are read in halves, since not every bus takes
/// 64 bits at once.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
enum Register {
    Capabilities = 0x000,
    Period = 0x004,
    Configuration = 0x010,
    CountLow = 0x0f0,
    CountHigh = 0x0f4,
}

/// In the capabilities: the count has 64 bits.
const COUNT_64: u32 = 1 << 13;
/// In the configuration: the count runs.
const RUN: u32 = 1;
/// The longest period that the specification allows, 100 ns. An address without an HPET reads as
/// all ones.
const LONGEST_PERIOD: u32 = 100_000_000;

/// The time from one count to the next, in femtoseconds.
static PERIOD: Once<u32> = Once::new();

/// Starts the clock.
///
/// # Panics
/// If there is no HPET, or only one whose count is too short.
pub fn init() {
    let period = read(Register::Period);
    assert!((1..=LONGEST_PERIOD).contains(&period), "no HPET");
    assert!(
        read(Register::Capabilities) & COUNT_64 != 0,
        "HPET of 32 bits"
    );
    PERIOD.call_once(|| period);
    let configuration = pointer(Register::Configuration);
    // SAFETY: the register is there, and no other core uses it yet. A running count changes no
    // memory.
    unsafe { configuration.write_volatile(configuration.read_volatile() | RUN) };
}

/// Returns the time since we or the firmware started the clock.
///
/// # Panics
/// If [`init`] has not been called.
pub fn now() -> Duration {
    try_now().expect("the clock was not started")
}

/// Returns the time since we or the firmware started the clock, or `None` before [`init`].
pub fn try_now() -> Option<Duration> {
    let period = *PERIOD.get()?;
    let nanoseconds = u128::from(count()) * u128::from(period) / 1_000_000;
    Some(Duration::from_nanos(nanoseconds as u64))
}

/// Spins for this time.
pub fn wait(time: Duration) {
    let start = now();
    while now() - start < time {
        hint::spin_loop();
    }
}

fn count() -> u64 {
    loop {
        let high = read(Register::CountHigh);
        let low = read(Register::CountLow);
        // Otherwise the lower half has overflowed between the two reads.
        if read(Register::CountHigh) == high {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

fn read(register: Register) -> u32 {
    // SAFETY: at the address is the HPET, or no device, which reads as all ones. Reading changes
    // nothing.
    unsafe { pointer(register).read_volatile() }
}

fn pointer(register: Register) -> *mut u32 {
    ptr::with_exposed_provenance_mut(BASE + register as usize)
}
