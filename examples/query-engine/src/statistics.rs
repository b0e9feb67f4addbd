//! Counts of what an engine did.

use std::sync::atomic::{AtomicU64, Ordering};

/// What an engine did since it was created, or since [`take_statistics`] was called.
///
/// [`take_statistics`]: crate::Engine::take_statistics
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Queries that were computed.
    pub computed: u64,
    /// Queries whose earlier answers were found to be still right.
    pub reused: u64,
    /// Computed queries whose answers turned out to be as before, so that nothing above them had
    /// to be computed on their account.
    pub unchanged: u64,
    /// Computations of a query that another worker was computing too; see
    /// [the crate's page](crate#waits-that-cannot-end).
    pub duplicated: u64,
    /// Waits for a query that another worker was computing.
    pub waited: u64,
    /// Cycles that a worker met on its own path, without waiting.
    pub met: u64,
    /// Cycles among workers that waited for each other.
    pub deadlocks: u64,
    /// Times that all workers waited, though there was no cycle.
    pub false_dependencies: u64,
}

/// The same, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) computed: Counter,
    pub(crate) reused: Counter,
    pub(crate) unchanged: Counter,
    pub(crate) duplicated: Counter,
    pub(crate) waited: Counter,
    pub(crate) met: Counter,
    pub(crate) deadlocks: Counter,
    pub(crate) false_dependencies: Counter,
}

/// A plain counter: it orders nothing.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }
}

impl Counters {
    /// Returns the counts.
    pub(crate) fn read(&self) -> Statistics {
        self.each(|counter| counter.load(Ordering::Relaxed))
    }

    /// Returns the counts and sets all to zero.
    pub(crate) fn take(&self) -> Statistics {
        self.each(|counter| counter.swap(0, Ordering::Relaxed))
    }

    fn each(&self, read: impl Fn(&AtomicU64) -> u64) -> Statistics {
        Statistics {
            computed: read(&self.computed.0),
            reused: read(&self.reused.0),
            unchanged: read(&self.unchanged.0),
            duplicated: read(&self.duplicated.0),
            waited: read(&self.waited.0),
            met: read(&self.met.0),
            deadlocks: read(&self.deadlocks.0),
            false_dependencies: read(&self.false_dependencies.0),
        }
    }
}
