//! Pools that count what their workers do.

use crate::pools::Sequential;

/// A pool that may count.
pub(crate) trait Counting {
    /// Whether it counts.
    const COUNTS: bool;

    /// Waits until all of its threads have been started.
    fn start(&self);

    /// Returns how many searches of its workers found nothing, except those that took jobs from
    /// outside.
    fn fruitless_searches(&self) -> u64;

    /// Returns how often a worker was woken, found nothing, and slept again.
    fn fruitless_wakes(&self) -> u64;
}

impl Counting for pool_std::ThreadPool {
    const COUNTS: bool = true;

    fn start(&self) {
        self.broadcast(|_| ());
    }

    fn fruitless_searches(&self) -> u64 {
        let counts = self.metrics().sum();
        counts.searches - counts.steals_succeeded
    }

    fn fruitless_wakes(&self) -> u64 {
        self.metrics().sum().fruitless_wakes
    }
}

impl Counting for rayon_core::ThreadPool {
    const COUNTS: bool = false;

    fn start(&self) {
        self.broadcast(|_| ());
    }

    fn fruitless_searches(&self) -> u64 {
        0
    }

    fn fruitless_wakes(&self) -> u64 {
        0
    }
}

/// The thread of the program does all that is to be done.
impl Counting for Sequential {
    const COUNTS: bool = false;

    fn start(&self) {}

    fn fruitless_searches(&self) -> u64 {
        0
    }

    fn fruitless_wakes(&self) -> u64 {
        0
    }
}
