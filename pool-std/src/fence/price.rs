//! The price of a barrier by the system, in ordinary fences.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use crate::system;

/// Nanoseconds for a barrier, as the last ones took: a moving average, since the price depends on
/// how many processors are busy just then.
static BARRIER: AtomicU32 = AtomicU32::new(LEAST);
/// Nanoseconds that a barrier takes at least when there are other threads.
const LEAST: u32 = 1_000;
/// Picoseconds for a fence as a pop takes it, a locked instruction on x86-64.
static FENCE: AtomicU32 = AtomicU32::new(5_000);

/// A barrier that took longer was interrupted.
const MOST: Duration = Duration::from_micros(100);

/// Measures both prices after the process has registered. Returns false if the system refuses
/// barriers nevertheless.
pub(super) fn measure() -> bool {
    const BARRIERS: u32 = 4;
    measure_fence();
    if !(0..BARRIERS).all(|_| timed(system::process_fence)) {
        return false;
    }
    // A process of one thread waits for no other thread, which will not stay so.
    BARRIER.fetch_max(LEAST, Ordering::Relaxed);
    true
}

fn measure_fence() {
    const FENCES: u32 = 500;
    let start = Instant::now();
    let word = AtomicU32::new(0);
    for _ in 0..FENCES {
        word.swap(0, Ordering::SeqCst);
    }
    let picoseconds = start.elapsed().min(MOST).as_nanos() * 1_000 / u128::from(FENCES);
    let picoseconds = u32::try_from(picoseconds).expect("no more than `MOST`");
    // Ordering: Relaxed here and below, estimates that stand alone.
    FENCE.store(picoseconds.max(100), Ordering::Relaxed);
}

/// Runs a barrier and learns from how long it takes. Returns what it returns.
pub(super) fn timed<R>(barrier: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = barrier();
    let last = u32::try_from(start.elapsed().min(MOST).as_nanos()).expect("no more than `MOST`");
    let before = BARRIER.load(Ordering::Relaxed);
    BARRIER.store(before - before / 4 + last / 4, Ordering::Relaxed);
    result
}

/// Returns the number of fences that cost as much as a barrier.
pub(super) fn in_fences() -> NonZeroU32 {
    let barrier = u64::from(BARRIER.load(Ordering::Relaxed)) * 1_000;
    let fences = barrier / u64::from(FENCE.load(Ordering::Relaxed));
    NonZeroU32::new(u32::try_from(fences).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_follows_what_barriers_take() {
        measure_fence();
        for _ in 0..50 {
            timed(|| std::thread::sleep(Duration::from_millis(1)));
        }
        let dear = in_fences();
        for _ in 0..50 {
            timed(|| {});
        }
        assert!(in_fences() < dear, "{} after {dear}", in_fences());
    }
}
