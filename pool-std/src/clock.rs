//! How long each worker was active, idle and asleep.

use std::time::{Duration, Instant};

// Not every target that has `std` has 64-bit atomics.
use portable_atomic::{AtomicU8, AtomicU64, Ordering};

/// What a worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Activity {
    Active,
    Idle,
    Asleep,
}

/// A stopwatch with three hands. Written by its worker, read by anybody.
///
/// All its atomics are plain counters: a reader may see a switch half done, which makes its
/// figures wrong by one interval and nothing else.
pub(crate) struct WorkerClock {
    start: Instant,
    activity: AtomicU8,
    /// When the current activity began, in nanoseconds after `start`.
    since: AtomicU64,
    /// Nanoseconds in finished intervals, by activity.
    totals: [AtomicU64; 3],
}

impl WorkerClock {
    pub(crate) fn new() -> Self {
        Self {
            start: Instant::now(),
            activity: AtomicU8::new(Activity::Idle as u8),
            since: AtomicU64::new(0),
            totals: [const { AtomicU64::new(0) }; 3],
        }
    }

    /// Nanoseconds after `start`; enough for 584 years.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(crate) fn switch(&self, to: Activity) {
        let now = self.now();
        let from = self.activity.swap(to as u8, Ordering::Relaxed);
        let since = self.since.swap(now, Ordering::Relaxed);
        self.totals[usize::from(from)].fetch_add(now.saturating_sub(since), Ordering::Relaxed);
    }

    pub(crate) fn times(&self) -> WorkerTimes {
        let mut totals = [0, 1, 2].map(|index: usize| self.totals[index].load(Ordering::Relaxed));
        let since = self.since.load(Ordering::Relaxed);
        let current = usize::from(self.activity.load(Ordering::Relaxed));
        totals[current] += self.now().saturating_sub(since);
        let [active, idle, asleep] = totals.map(Duration::from_nanos);
        WorkerTimes {
            active,
            idle,
            asleep,
        }
    }
}

/// How long a worker was active, idle and asleep since its pool was built.
///
/// From [`ThreadPool::worker_times`](crate::ThreadPool::worker_times).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkerTimes {
    /// Running jobs.
    pub active: Duration,
    /// Awake and searching for jobs.
    pub idle: Duration,
    /// Asleep.
    pub asleep: Duration,
}

impl WorkerTimes {
    /// What has been added since an earlier look at the same worker.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            active: self.active.saturating_sub(earlier.active),
            idle: self.idle.saturating_sub(earlier.idle),
            asleep: self.asleep.saturating_sub(earlier.asleep),
        }
    }
}

#[cfg(test)]
mod tests;
