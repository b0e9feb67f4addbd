//! The references to its pool that a worker keeps for the next jobs that it spawns, and the top
//! level, where it does so.

use core::{cell::Cell, ptr};

use crate::{platform::Platform, registry::Registry, worker::WorkerThread};

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of references that are added at a time, and removed at a time.
const BATCH: u16 = if cfg!(any(loom, test)) { 2 } else { 64 };

/// The most references that a worker keeps.
const LIMIT: u16 = 2 * BATCH;

/// The references that a worker has added and that belong to no job yet.
///
/// Each detached job has a reference to its pool. All workers write the number of references, so a
/// worker that spawns and runs many jobs keeps the references of those that have ended for those
/// that it spawns next. It adds and removes several at a time.
///
/// # Why the pool ends, and is found idle, in time
///
/// A kept reference makes the pool look busy. So a worker keeps references only inside the jobs
/// that it begins at top level: that job, or the one of whose join or scope it is a part, has a
/// reference, too. (If a guest, an adopted thread or an operation waits for the join or scope, none
/// has one. Then a thread that waits until the pool is idle may also wait for that part.)
/// From one job of its deque the worker carries them to the next one, which it takes at once. When
/// it finds its deque empty between two jobs, and when its loop ends, it removes them. A thread
/// that ends in the middle of a job leaves the reference of that job for good, and so what it
/// keeps.
///
/// Other code of users that a worker runs may go on for any time: that of a thread that the pool
/// has adopted, of a guest, or of an operation in a search. There, and in the jobs that are run
/// while it waits, references are added and removed one by one.
#[derive(Debug)]
pub(super) struct KeptReferences {
    count: Cell<u16>,
    /// The depth of the jobs that the worker begins at top level, or [`NOWHERE`]. At this depth and
    /// deeper, the worker keeps references.
    top: Cell<usize>,
}

/// The value of `top` for a worker that is in no loop at top level, or in a search of such a loop.
const NOWHERE: usize = usize::MAX;

impl KeptReferences {
    /// Creates the value of a worker that keeps none.
    pub(super) const fn new() -> Self {
        Self {
            count: Cell::new(0),
            top: Cell::new(NOWHERE),
        }
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Adds a reference for a job that this worker is about to queue, as
    /// [`Registry::try_add_reference`] does. If the worker keeps a reference, this does not write
    /// to memory that other workers write.
    #[inline]
    pub fn try_add_reference(&self) -> bool {
        match self.kept.count.get().checked_sub(1) {
            Some(rest) => {
                self.kept.count.set(rest);
                true
            }
            None if self.keeps_references() => self.try_add_batch(),
            None => self.registry().try_add_reference(),
        }
    }

    /// Adds a reference for a job, and some to keep.
    #[cold]
    fn try_add_batch(&self) -> bool {
        let are_added = self.registry().try_add_references(usize::from(BATCH));
        if are_added {
            self.kept.count.set(BATCH - 1);
        }
        are_added
    }

    /// Removes the reference of a job that has ended on this worker, or keeps it.
    #[inline]
    pub fn remove_reference(&self) {
        if !self.keeps_references() {
            return self.registry().remove_reference();
        }
        let kept = self.kept.count.get();
        if kept < LIMIT {
            self.kept.count.set(kept + 1);
        } else {
            self.remove_batch();
        }
    }

    /// Removes the reference of a job, and some that are kept.
    #[cold]
    fn remove_batch(&self) {
        self.kept.count.set(LIMIT - (BATCH - 1));
        self.registry().remove_references(usize::from(BATCH));
    }

    /// Returns how many references this worker keeps, which belong to no job.
    pub fn num_kept_references(&self) -> usize {
        usize::from(self.kept.count.get())
    }

    /// Whether this worker has begun the job that it runs, or one below that on its stack, at top
    /// level.
    #[inline]
    fn keeps_references(&self) -> bool {
        self.depth() >= self.kept.top.get()
    }

    /// Whether the worker has begun the job that it runs at top level, so that it takes fair looks
    /// when the job has ended.
    pub fn is_in_job_at_top_level(&self) -> bool {
        self.depth() == self.kept.top.get()
    }

    /// Whether the worker is between two jobs that it begins at top level.
    pub(crate) fn is_at_top_level(&self) -> bool {
        self.depth() + 1 == self.kept.top.get()
    }

    /// Notes that the jobs that this worker begins in this frame are at top level. Returns what
    /// [`end_top_level`](Self::end_top_level) takes.
    pub(super) fn begin_top_level(&self) -> usize {
        self.kept.top.replace(self.depth() + 1)
    }

    /// Ends what [`begin_top_level`](Self::begin_top_level) has begun. This may end the pool.
    pub(super) fn end_top_level(&self, outer: usize) {
        self.kept.top.set(outer);
        self.remove_kept_references();
    }

    /// Removes the references that this worker keeps, and calls a closure in which it keeps none
    /// and begins no job at top level. This may end the pool.
    ///
    /// A guest comes in such a search of the host, so it begins no job at top level either.
    #[inline]
    pub(super) fn outside_top_level<R>(&self, closure: impl FnOnce() -> R) -> R {
        let top = self.kept.top.replace(NOWHERE);
        self.remove_kept_references();
        let result = closure();
        self.kept.top.set(top);
        result
    }

    /// Removes the references that this worker keeps. This may end the pool.
    #[inline]
    fn remove_kept_references(&self) {
        if self.kept.count.get() > 0 {
            let kept = self.kept.count.replace(0);
            self.registry().remove_references(usize::from(kept));
        }
    }
}

impl<P: Platform> Registry<P> {
    /// Adds a reference for a job, as [`try_add_reference`](Self::try_add_reference) does. A worker
    /// of the pool may use one that it [keeps](WorkerThread::try_add_reference).
    #[inline]
    pub fn try_add_reference_of_job(&self) -> bool {
        match self.current_worker() {
            Some(worker) => worker.try_add_reference(),
            None => self.try_add_reference(),
        }
    }

    /// Removes the reference of a job, as [`remove_reference`](Self::remove_reference) does. A
    /// worker of the pool may [keep](WorkerThread::remove_reference) it.
    #[inline]
    pub fn remove_reference_of_job(&self) {
        match self.current_worker() {
            Some(worker) => worker.remove_reference(),
            None => self.remove_reference(),
        }
    }

    /// Returns the worker of this pool that this thread is. It must be used at once.
    #[inline]
    fn current_worker(&self) -> Option<&WorkerThread<P>> {
        // SAFETY: 1. the callers use it at once.
        let worker = unsafe { WorkerThread::<P>::current() };
        worker.filter(|worker| ptr::eq(worker.registry(), self))
    }
}
