//! How many jobs of a scope are pending.

use core::mem::{MaybeUninit, size_of};

use sleep_core::WorkerIndex;

use crate::{
    isolation::Isolation,
    latch::{CountLatch, Latch},
    platform::Platform,
    primitive::{AtomicUsize, Ordering},
    registry::Registry,
    unwind::no_unwind,
    worker::{Awaited, OutsideScopes, WorkerThread},
};

#[cfg(all(test, not(loom)))]
mod tests;

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

/// Counts the jobs of a scope, and its body, in a latch on which the scope's worker waits.
///
/// The scope's own worker has prepaid counts: they are pending in the latch, and belong to no job
/// yet. It uses them for the jobs that it spawns, and gets them back from the jobs that it runs. So
/// for these it writes to no cache line that other workers write. Jobs that other workers spawn or
/// run are counted in the latch.
///
/// At any time, what is pending in the latch is the sum of the jobs that are not done, of the
/// scope's body, and of `left`. So the latch is not set before the worker has given back what is
/// left.
#[repr(C)]
pub(super) struct PendingJobs<'w, P: Platform> {
    /// The address of the scope's worker, or [`NO_OWNER`]. All workers read it, and none writes
    /// it.
    owner: usize,
    /// What a worker that runs a job of the scope may run while it waits. Read as `owner` is.
    isolation: Isolation,
    gap: Gap,
    /// Other workers write it.
    latch: CountLatch<'w, P>,
    second_gap: Gap,
    /// Only the worker accesses it. Not a `Cell`, because a scope is shared.
    left: AtomicUsize,
}

/// Keeps the word before it and the one behind it on different cache lines of 64 bytes.
///
/// With an alignment instead, a scope would take twice the stack, and scopes may be nested.
type Gap = MaybeUninit<[usize; 64 / size_of::<usize>() - 1]>;

impl<'w, P: Platform> PendingJobs<'w, P> {
    /// Counts the body of a scope on this pool; `owner` is the worker that waits. A worker of
    /// another pool runs no jobs of the scope, so it has no prepaid counts.
    #[inline]
    pub(super) fn new(owner: Option<&'w WorkerThread<P>>, registry: &Registry<P>) -> Self {
        let local = owner.filter(|owner| core::ptr::eq(owner.registry(), registry));
        Self {
            owner: local.map_or(NO_OWNER, address),
            isolation: local.map_or(Isolation::Anything, WorkerThread::isolation_of_job),
            gap: Gap::uninit(),
            latch: CountLatch::new(owner, registry),
            second_gap: Gap::uninit(),
            left: AtomicUsize::new(0),
        }
    }

    /// Returns about how many jobs are pending, the body included.
    pub(super) fn count(&self) -> usize {
        self.latch.pending().saturating_sub(self.left())
    }

    /// Returns how many jobs are pending in the latch, the body and prepaid counts included.
    #[cfg(all(test, not(loom)))]
    pub(super) fn counted(&self) -> usize {
        self.latch.pending()
    }

    /// Returns what a worker that runs a job of the scope may run while it waits: the same as the
    /// job that opened the scope.
    #[inline]
    pub(super) fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// As [`CountLatch::isolated_wait`].
    pub(super) fn isolated_wait(&self) -> Option<Awaited> {
        self.latch.isolated_wait()
    }

    /// As [`CountLatch::isolated_waiter`].
    pub(super) fn isolated_waiter(&self) -> Option<WorkerIndex> {
        self.latch.isolated_waiter()
    }

    /// Counts jobs that `worker` is going to queue, without the latch if possible.
    #[inline]
    pub(super) fn add(&self, worker: Option<&WorkerThread<P>>, count: usize) {
        let left = match worker {
            // Ordering: Relaxed here and below. One worker accesses it, and the threads that are
            // this worker in turn are ordered.
            Some(worker) if self.is_owner(worker) => self.left.load(Ordering::Relaxed),
            _ => CLOSED,
        };
        if left == CLOSED {
            self.latch.increment(count);
        } else if let Some(rest) = left.checked_sub(count) {
            self.left.store(rest, Ordering::Relaxed);
        } else {
            // A sum that overflows is refused by the latch, as too many jobs.
            self.latch.increment(count.saturating_add(BATCH));
            self.left.store(left + BATCH, Ordering::Relaxed);
        }
    }

    /// Removes a job that has ended.
    ///
    /// # Safety
    /// 1. `this` is alive, and counts this job, for which there is no other call.
    /// 2. As obligation 3 of [`Latch::set`].
    #[inline]
    pub(super) unsafe fn remove(this: *const Self) {
        // SAFETY: 1. it is alive while the job is pending (obligation 1), or if this thread is the
        // worker of the scope until that one returns to the scope's frame; 2. this is the only call
        // for the job, whose count is still in the latch unless it was taken over; 3. is
        // obligation 2.
        unsafe {
            if !(*this).take_over() {
                // The reference ends here: only the pointer goes on.
                let latch: &CountLatch<'_, P> = &(*this).latch;
                Latch::set(core::ptr::from_ref(latch));
            }
        }
    }

    /// Takes over the count of a job that has ended on this thread, if the thread is the scope's
    /// worker. Returns false if the job must be counted in the latch: also if the worker has
    /// counts enough.
    #[inline]
    fn take_over(&self) -> bool {
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

    /// Removes the body, which has ended, and waits for the jobs. `owner` is the worker that `new`
    /// was called with; `outside` names the scopes that a worker looks at.
    pub(super) fn end(&self, owner: Option<&WorkerThread<P>>, outside: OutsideScopes) {
        // The scope's frame must not be left while jobs are pending.
        let left = no_unwind(|| owner.map_or(0, |owner| self.close(owner)));
        // The job that a new latch counts is the body.
        self.latch.remove_and_wait(left + 1, owner, outside);
    }

    /// Runs urgent jobs and the worker's own until none are left or the scope's jobs are done, and
    /// then stops prepaying counts. Returns how many counts are left, which the caller removes from
    /// the latch; 0 if `worker` is not the scope's.
    fn close(&self, worker: &WorkerThread<P>) -> usize {
        if !self.is_owner(worker) {
            return 0;
        }
        if self.latch.isolated_waiter().is_none() {
            self.run_local_jobs(worker);
        }
        let left = self.left.load(Ordering::Relaxed);
        self.left.store(CLOSED, Ordering::Relaxed);
        left
    }

    /// Runs jobs as [`close`](Self::close) says. Not in an isolated job, where only those may run
    /// that were pushed since the scope began: the wait for the scope sees to that.
    #[inline]
    fn run_local_jobs(&self, worker: &WorkerThread<P>) {
        // The body is pending, too. Other jobs of the worker must not run when the scope's are
        // done: they may wait for what comes after the scope.
        while self.latch.pending() > self.left() + 1 {
            if worker.has_urgent_jobs() && worker.run_before_own(false) {
                continue;
            }
            let Some(job) = worker.take_local_job() else {
                break;
            };
            // SAFETY: 1. the queue gave it to us alone.
            unsafe { worker.run(job) };
        }
    }

    /// Returns about how many counts belong to no job.
    fn left(&self) -> usize {
        match self.left.load(Ordering::Relaxed) {
            CLOSED => 0,
            left => left,
        }
    }

    /// Whether this is the scope's worker.
    #[inline]
    pub(super) fn is_owner(&self, worker: &WorkerThread<P>) -> bool {
        self.owner == address(worker)
    }
}

fn address<P: Platform>(worker: &WorkerThread<P>) -> usize {
    core::ptr::from_ref(worker).addr()
}
