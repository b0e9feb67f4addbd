//! Counts that the worker of a scope has in advance.

use crate::{
    latch::CountLatch,
    platform::Platform,
    primitive::{AtomicUsize, Ordering},
    registry::Registry,
    worker::WorkerThread,
};
use crossbeam_utils::CachePadded;

/// The number of counts that are added at a time.
const BATCH: usize = if cfg!(any(loom, test)) { 2 } else { 64 };

/// The most counts that the worker keeps when it takes over those of other workers' jobs. Otherwise
/// they would grow with the number of such jobs, and overflow where a `usize` has 32 bits.
const LIMIT: usize = 4 * BATCH;

/// The owner of a scope without prepaid counts. It differs from every address of a worker, and from
/// the null address that a platform returns for a thread outside its pools.
const NO_OWNER: usize = 1;

/// The value of `left` when the counts were given back. It is above the limit.
const CLOSED: usize = usize::MAX;

/// Counts that are pending in the latch of a scope, and belong to no job yet.
///
/// The scope's own worker uses them for the jobs that it spawns, and gets them back from the jobs
/// that it runs. So for these it writes to no cache line that other workers write. Jobs that other
/// workers spawn or run are counted in the latch.
///
/// At any time, what is pending in the latch is the sum of the jobs that are not done, of the
/// scope's body, and of `left`. So the latch is not set before the worker has [given
/// back](Self::close) what is left.
pub(super) struct Prepaid {
    /// The address of the scope's worker, or [`NO_OWNER`]. Written by no thread, and therefore not
    /// beside what is written.
    owner: usize,
    /// Only the worker accesses it. Not a `Cell`, because a scope is shared.
    left: CachePadded<AtomicUsize>,
}

impl Prepaid {
    /// Creates counts for a scope on this pool, none at first; `owner` is the worker that waits. A
    /// worker of another pool runs no jobs of the scope, so it has none.
    pub(super) fn new<P: Platform>(
        owner: Option<&WorkerThread<P>>,
        registry: &Registry<P>,
    ) -> Self {
        let owner = owner.filter(|owner| core::ptr::eq(owner.registry(), registry));
        Self {
            owner: owner.map_or(NO_OWNER, address),
            left: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// Counts jobs that `worker` is going to queue, without the latch if possible.
    #[inline]
    pub(super) fn add<P: Platform>(
        &self,
        worker: Option<&WorkerThread<P>>,
        count: usize,
        pending: &CountLatch<'_, P>,
    ) {
        let left = match worker {
            // Ordering: Relaxed here and below. One worker accesses it, and the threads that are
            // this worker in turn are ordered.
            Some(worker) if self.is_owner(worker) => self.left.load(Ordering::Relaxed),
            _ => CLOSED,
        };
        if left == CLOSED {
            pending.increment(count);
        } else if let Some(rest) = left.checked_sub(count) {
            self.left.store(rest, Ordering::Relaxed);
        } else {
            // A sum that overflows is refused by the latch, as too many jobs.
            pending.increment(count.saturating_add(BATCH));
            self.left.store(left + BATCH, Ordering::Relaxed);
        }
    }

    /// Takes over the count of a job that has ended on this thread, if the thread is the scope's
    /// worker. Returns false if the job must be counted in the latch: also if the worker has
    /// counts enough.
    #[inline]
    pub(super) fn take_over<P: Platform>(&self) -> bool {
        if self.owner != P::current().addr() {
            return false;
        }
        let left = self.left.load(Ordering::Relaxed);
        if left >= LIMIT {
            return false;
        }
        self.left.store(left + 1, Ordering::Relaxed);
        true
    }

    /// Runs jobs of the worker's own until it has none or the scope's jobs are done, and then ends
    /// that counts are prepaid. Returns how many counts are left, which the caller removes from
    /// the latch; 0 if `worker` is not the scope's.
    pub(super) fn close<P: Platform>(
        &self,
        worker: &WorkerThread<P>,
        pending: &CountLatch<'_, P>,
    ) -> usize {
        if !self.is_owner(worker) {
            return 0;
        }
        if pending.isolated_waiter().is_none() {
            self.run_local_jobs(worker, pending);
        }
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(CLOSED, Ordering::Relaxed);
        left
    }

    /// Runs jobs of the worker's own as [`close`](Self::close) says. Not in an isolated job, where
    /// only those may run that were pushed since the scope began: the wait for the scope sees to
    /// that.
    #[inline]
    fn run_local_jobs<P: Platform>(&self, worker: &WorkerThread<P>, pending: &CountLatch<'_, P>) {
        // The body is pending, too. Other jobs of the worker must not run when the scope's are
        // done: they may wait for what comes after the scope.
        while pending.pending() > self.left() + 1 {
            let Some(job) = worker.take_local_job() else {
                break;
            };
            // SAFETY: 1. the queue gave it to us alone.
            unsafe { worker.run(job) };
        }
    }

    /// Returns about how many counts belong to no job.
    pub(super) fn left(&self) -> usize {
        match self.left.load(Ordering::Relaxed) {
            CLOSED => 0,
            left => left,
        }
    }

    #[inline]
    fn is_owner<P: Platform>(&self, worker: &WorkerThread<P>) -> bool {
        self.owner == address(worker)
    }
}

fn address<P: Platform>(worker: &WorkerThread<P>) -> usize {
    core::ptr::from_ref(worker).addr()
}
