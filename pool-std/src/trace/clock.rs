//! The clock of traces: a counter of the processor where there is one.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use pool_core::trace::TraceClock;

use crate::{clock, sync::First};

/// The minimum time between two looks at both clocks, so that the rate of the one is known in terms
/// of the other to one part in ten thousand.
const BASE: Duration = Duration::from_millis(1);

/// Reads the processor's counter in a few nanoseconds, if it counts at a constant rate on all
/// processors. Otherwise reads the system's clock, which takes some twenty nanoseconds.
pub(crate) struct Ticks;

/// Whether the processor's counter is used. Set once, before the first tracer is created.
static HAS_COUNTER: AtomicBool = AtomicBool::new(false);

impl TraceClock for Ticks {
    #[inline]
    fn now() -> u64 {
        // Ordering: Relaxed. The tracer was created after this was set, and its users have
        // synchronized with the thread that created it.
        if HAS_COUNTER.load(Ordering::Relaxed) {
            counter::read()
        } else {
            clock::now().unwrap_or(0)
        }
    }
}

/// Both clocks, read at one moment.
#[derive(Debug, Clone, Copy)]
struct ClockPair {
    ticks: u64,
    nanoseconds: u64,
}

impl ClockPair {
    fn now() -> Self {
        let ticks = Ticks::now();
        let nanoseconds = clock::now().unwrap_or(0);
        Self { ticks, nanoseconds }
    }
}

/// Returns the moment from which the times of traces count: when the first tracer was created.
fn origin() -> ClockPair {
    static ORIGIN: First<ClockPair> = First::new();

    *ORIGIN.get_or_set(|| {
        // Ordering: Relaxed, see `Ticks::now`.
        HAS_COUNTER.store(counter::is_steady(), Ordering::Relaxed);
        ClockPair::now()
    })
}

/// Starts the clock, before the first tracer is created.
pub(super) fn begin() {
    origin();
}

/// Converts ticks into the time since the first tracer was created.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    origin: u64,
    nanoseconds_per_tick: f64,
}

impl Scale {
    /// Compares both clocks now.
    pub(super) fn now() -> Self {
        let origin = origin();
        let mut now = ClockPair::now();
        let has_clock = clock::now().is_some();
        while has_clock && now.nanoseconds - origin.nanoseconds < BASE.as_nanos() as u64 {
            thread::sleep(BASE);
            now = ClockPair::now();
        }
        let ticks = now.ticks.saturating_sub(origin.ticks).max(1);
        let nanoseconds = now.nanoseconds - origin.nanoseconds;
        Self {
            origin: origin.ticks,
            nanoseconds_per_tick: nanoseconds as f64 / ticks as f64,
        }
    }

    pub(super) fn time(&self, ticks: u64) -> Duration {
        let ticks = ticks.saturating_sub(self.origin);
        Duration::from_nanos((ticks as f64 * self.nanoseconds_per_tick) as u64)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// The CPUID leaf that describes the time stamp counter, and the bit that says that the counter
    /// has a constant rate in all states of the processor.
    const POWER_MANAGEMENT: u32 = 0x8000_0007;
    const INVARIANT: u32 = 1 << 8;

    pub(super) fn is_steady() -> bool {
        // Newer versions of the standard library have made these functions safe.
        #[allow(unused_unsafe)]
        // SAFETY: every processor of this architecture has CPUID.
        unsafe {
            __cpuid(0x8000_0000).eax >= POWER_MANAGEMENT
                && __cpuid(POWER_MANAGEMENT).edx & INVARIANT != 0
        }
    }

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every processor of this architecture has the counter.
        unsafe { _rdtsc() }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod counter {
    use std::arch::asm;

    /// The architecture's generic timer counts at a constant rate, the same on all processors.
    pub(super) fn is_steady() -> bool {
        // These systems let programs read it: their own clocks do so without a system call.
        cfg!(any(
            target_os = "linux",
            target_os = "android",
            target_vendor = "apple"
        ))
    }

    #[inline]
    pub(super) fn read() -> u64 {
        let ticks: u64;
        // SAFETY: reading the counter changes nothing, and `is_steady` says where it is allowed.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}

#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
mod counter {
    pub(super) fn is_steady() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        0
    }
}
