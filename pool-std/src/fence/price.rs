//! The price of a barrier by the system, in ordinary fences.

use std::{
    num::NonZeroU32,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use crate::system;

/// The price of this process's barriers.
static PRICE: Price = Price::new();

/// Nanoseconds that a barrier takes at least when there are other threads.
const LEAST: u32 = 1_000;

/// A barrier that took longer was interrupted.
const MOST: Duration = Duration::from_micros(100);

/// What barriers and fences take. Estimates that stand alone, so all accesses are Relaxed.
#[derive(Debug)]
struct Price {
    /// Nanoseconds for a barrier, as the last ones took: a moving average, since the price depends
    /// on how many processors are busy just then.
    barrier: AtomicU32,
    /// Picoseconds for a fence as a pop takes it, a locked instruction on x86-64.
    fence: AtomicU32,
}

/// Measures both prices after the process has registered. Returns false if the system refuses
/// barriers nevertheless.
pub(super) fn measure() -> bool {
    const BARRIERS: u32 = 4;
    PRICE.measure_fence();
    if !(0..BARRIERS).all(|_| timed(system::process_fence)) {
        return false;
    }
    // With one thread, a barrier waits for no other thread; later ones will.
    PRICE.barrier.fetch_max(LEAST, Ordering::Relaxed);
    true
}

/// Runs a barrier and learns from how long it takes. Returns what it returns.
pub(super) fn timed<R>(barrier: impl FnOnce() -> R) -> R {
    PRICE.timed(barrier)
}

/// Returns the number of fences that cost as much as a barrier.
pub(super) fn in_fences() -> NonZeroU32 {
    PRICE.in_fences()
}

impl Price {
    const fn new() -> Self {
        Self {
            barrier: AtomicU32::new(LEAST),
            fence: AtomicU32::new(5_000),
        }
    }

    fn measure_fence(&self) {
        const FENCES: u32 = 500;
        let start = Instant::now();
        let word = AtomicU32::new(0);
        for _ in 0..FENCES {
            word.swap(0, Ordering::SeqCst);
        }
        let picoseconds = start.elapsed().min(MOST).as_nanos() * 1_000 / u128::from(FENCES);
        let picoseconds = u32::try_from(picoseconds).expect("no more than `MOST`");
        self.fence.store(picoseconds.max(100), Ordering::Relaxed);
    }

    fn timed<R>(&self, barrier: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = barrier();
        let last = start.elapsed().min(MOST).as_nanos();
        let last = u32::try_from(last).expect("no more than `MOST`");
        let before = self.barrier.load(Ordering::Relaxed);
        self.barrier
            .store(before - before / 4 + last / 4, Ordering::Relaxed);
        result
    }

    fn in_fences(&self) -> NonZeroU32 {
        let barrier = u64::from(self.barrier.load(Ordering::Relaxed)) * 1_000;
        let fences = barrier / u64::from(self.fence.load(Ordering::Relaxed));
        NonZeroU32::new(u32::try_from(fences).unwrap_or(u32::MAX)).unwrap_or(NonZeroU32::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_follows_what_barriers_take() {
        let price = Price::new();
        for _ in 0..50 {
            price.timed(|| std::thread::sleep(Duration::from_millis(1)));
        }
        let dear = price.in_fences();
        for _ in 0..50 {
            price.timed(|| {});
        }
        assert!(price.in_fences() < dear, "{price:?} after {dear}");
    }
}
