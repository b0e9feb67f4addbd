//! How the main thread waits for jobs.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, Thread},
};

/// Counts jobs, and lets the thread that expects them wait for the last. A static, so that it
/// costs the jobs as little as can be.
pub(crate) struct Latch {
    left: AtomicUsize,
    waiter: OnceLock<Thread>,
}

impl Latch {
    pub(crate) const fn new() -> Self {
        Self {
            left: AtomicUsize::new(0),
            waiter: OnceLock::new(),
        }
    }

    /// Expects so many jobs. It is always the same thread that does.
    pub(crate) fn expect(&self, jobs: usize) {
        let waiter = self.waiter.get_or_init(thread::current);
        assert_eq!(waiter.id(), thread::current().id());
        let left = self.left.swap(jobs, Ordering::Relaxed);
        assert_eq!(left, 0, "others are still expected");
    }

    /// A job has ended.
    pub(crate) fn count_down(&self) {
        // Ordering: Release pairs with `wait`, which sees what the jobs have written.
        if self.left.fetch_sub(1, Ordering::Release) == 1 {
            self.waiter.get().expect("set when expected").unpark();
        }
    }

    /// Waits until all expected jobs have ended.
    pub(crate) fn wait(&self) {
        // Ordering: Acquire, see above.
        while self.left.load(Ordering::Acquire) > 0 {
            // Liveness: the last job unparks us after it has been counted.
            thread::park();
        }
    }
}
