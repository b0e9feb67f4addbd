//! What is known of a pool at one moment.

use deque_core::Deque;

use super::{
    counters::{Counts, WorkerSnapshot},
    observer::Observer,
    stopwatch::{WorkerState, WorkerTimes},
};
use crate::{platform::Platform, registry::Registry, worker::WorkerShared};
use sleep_core::WorkerIndex;

/// What is known about one worker at one moment. Created by the pool's `metrics()`.
///
/// # Examples
/// ```
/// use pool_core::{WorkerMetrics, WorkerState};
///
/// /// Returns how many of its attempts to steal a worker has repeated, in percent.
/// fn retries(worker: &WorkerMetrics) -> Option<u64> {
///     let counts = worker.counts;
///     (100 * counts.steals_retried).checked_div(counts.steals_tried)
/// }
///
/// let unknown = WorkerMetrics::default();
/// assert_eq!(unknown.state, WorkerState::Unknown);
/// assert_eq!(retries(&unknown), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// What the worker is doing.
    pub state: WorkerState,
    /// About how many jobs are on its deque, see [`Deque::len`].
    pub queued: usize,
    /// How often it has done what. Zeros if the pool is built without metrics.
    pub counts: Counts,
    /// How long it was active, idle and asleep. None if the platform has no clock, or no thread
    /// has been the worker yet, or the pool is built without metrics.
    pub times: Option<WorkerTimes>,
}

/// What is known about a pool at one moment: each worker, and the queue of jobs from outside.
///
/// `W` is where the [`WorkerMetrics`] are. Nothing stops while they are read, so numbers of
/// different workers need not be consistent. `{}` and `{:#?}` print a table with a row for each
/// worker, and their sum.
///
/// # Examples
/// ```
/// use pool_core::{PoolMetrics, WorkerMetrics, WorkerState};
///
/// /// Whether jobs wait although workers sleep; if that lasts, a wake-up was lost.
/// fn looks_stuck<W: AsRef<[WorkerMetrics]>>(metrics: &PoolMetrics<W>) -> bool {
///     !metrics.injector_is_empty() && metrics.num_in(WorkerState::Asleep) > 0
/// }
///
/// /// Returns how many wake-ups out of a hundred found nothing.
/// fn fruitless_wakes<W: AsRef<[WorkerMetrics]>>(metrics: &PoolMetrics<W>) -> u64 {
///     let sum = metrics.sum();
///     100 * sum.fruitless_wakes / sum.wakes.max(1)
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PoolMetrics<W> {
    workers: W,
    injector_len: Option<usize>,
    injector_is_empty: bool,
}

impl<W> PoolMetrics<W> {
    pub(super) fn of(workers: W, injector_len: Option<usize>, injector_is_empty: bool) -> Self {
        Self {
            workers,
            injector_len,
            injector_is_empty,
        }
    }
}

impl<W: AsRef<[WorkerMetrics]>> PoolMetrics<W> {
    /// Returns what is known about each worker, in order of their numbers.
    #[must_use]
    pub fn workers(&self) -> &[WorkerMetrics] {
        self.workers.as_ref()
    }

    /// Returns the counts of all workers together.
    #[must_use]
    pub fn sum(&self) -> Counts {
        self.workers().iter().map(|worker| worker.counts).sum()
    }

    /// Returns the times of all workers together. None if no worker has any.
    #[must_use]
    pub fn sum_of_times(&self) -> Option<WorkerTimes> {
        let times = self.workers().iter().filter_map(|worker| worker.times);
        times.reduce(WorkerTimes::plus)
    }

    /// Returns how many workers are in a state.
    #[must_use]
    pub fn num_in(&self, state: WorkerState) -> usize {
        let is_in = |worker: &&WorkerMetrics| worker.state == state;
        self.workers().iter().filter(is_in).count()
    }

    /// Returns these metrics with another number of jobs from outside. For a platform that has such
    /// jobs in its own queues, or has something else in the pool's queue.
    ///
    /// # Examples
    /// ```
    /// use pool_core::{PoolMetrics, WorkerMetrics};
    ///
    /// fn without_jobs(metrics: PoolMetrics<Vec<WorkerMetrics>>) {
    ///     let metrics = metrics.with_injector_len(0);
    ///     assert!(metrics.injector_is_empty());
    /// }
    /// ```
    #[must_use]
    pub fn with_injector_len(self, jobs: usize) -> Self {
        Self::of(self.workers, Some(jobs), jobs == 0)
    }

    /// Returns about how many jobs from outside wait to be taken. None if the queue cannot tell
    /// without going through its elements.
    #[must_use]
    pub fn injector_len(&self) -> Option<usize> {
        self.injector_len
    }

    /// Whether no job from outside waits to be taken.
    #[must_use]
    pub fn injector_is_empty(&self) -> bool {
        self.injector_is_empty
    }
}

impl<P: Platform> WorkerShared<P> {
    fn metrics(&self) -> WorkerMetrics {
        let snapshot = self.observer().snapshot(P::now);
        let WorkerSnapshot {
            state,
            counts,
            times,
        } = snapshot.unwrap_or_default();
        let queued = Deque::len(&self.deque);
        WorkerMetrics {
            state,
            queued,
            counts,
            times,
        }
    }
}

impl<P: Platform> Registry<P> {
    /// Returns what is known about one worker at this moment. Any thread may call it.
    pub fn worker_metrics(&self, worker: WorkerIndex) -> WorkerMetrics {
        self.workers()[worker.get()].metrics()
    }

    /// Returns what is known about the pool at this moment. Any thread may call it.
    ///
    /// `collect` puts the workers' metrics where the caller wants to have them: it is given a
    /// function from a worker's number to its metrics.
    pub fn metrics<W>(
        &self,
        collect: impl FnOnce(&dyn Fn(usize) -> WorkerMetrics) -> W,
    ) -> PoolMetrics<W> {
        let workers = collect(&|index| self.workers()[index].metrics());
        let injectors = self.injectors();
        PoolMetrics::of(workers, injectors.len(), injectors.is_empty())
    }
}
