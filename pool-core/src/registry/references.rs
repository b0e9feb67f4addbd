//! References keep a pool running. When the last one is removed, the pool ends.

use sleep_core::{CoreLatch, WorkerIndex};

use crate::{
    platform::Platform,
    primitive::{Ordering, fence},
    registry::Registry,
};

/// The bit of the reference count that says that the pool is [watched](Registry::watch). It makes
/// the count negative.
const WATCHED: usize = 1 << (usize::BITS - 1);

impl<P: Platform> Registry<P> {
    /// Adds a reference for a user, or for a job that must run before the workers stop.
    pub fn add_reference(&self) {
        self.add_references(1);
    }

    /// Adds `count` references, as [`add_reference`](Self::add_reference) does.
    pub fn add_references(&self, count: usize) {
        // Ordering: Relaxed, a plain count: the caller's own reference keeps it above zero.
        let before = self.references.fetch_add(count, Ordering::Relaxed);
        debug_assert!(before > 0, "the workers have been requested to stop");
    }

    /// Adds a reference unless there is none left. Returns false if the workers have been requested
    /// to stop.
    pub fn try_add_reference(&self) -> bool {
        self.try_add_references(1)
    }

    /// Adds `count` references, as [`try_add_reference`](Self::try_add_reference) does.
    pub(crate) fn try_add_references(&self, count: usize) -> bool {
        // Ordering: Relaxed, a plain count.
        self.references
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |references| {
                (references > 0).then_some(references + count)
            })
            .is_ok()
    }

    /// Removes a reference. After the last one is removed, the workers run what is queued, and then
    /// stop.
    pub fn remove_reference(&self) {
        self.remove_references(1);
    }

    /// Removes `count` references, as [`remove_reference`](Self::remove_reference) does.
    pub(crate) fn remove_references(&self, count: usize) {
        // Ordering: AcqRel. Release publishes what was done under this reference to the thread that
        // removes the last one, and to the threads that see the end (`has_references`). With
        // Acquire, the thread that removes the last reference receives all of it, and `terminate`
        // passes it on to the workers. With anything weaker, a worker could end without seeing it.
        let before = self.references.fetch_sub(count, Ordering::AcqRel);
        debug_assert!(before & !WATCHED >= count, "a reference is removed twice");
        let left = before.wrapping_sub(count);
        // One comparison for both cases, because a count that is watched is negative.
        if left.cast_signed() <= 0 {
            self.references_removed_cold(left);
        }
    }

    #[cold]
    fn references_removed_cold(&self, left: usize) {
        if !P::can_end(self) {
            return;
        }
        if left == 0 {
            self.terminate();
        } else {
            P::on_reference_removed(self);
        }
    }

    /// Makes each [`remove_reference`](Self::remove_reference) call
    /// [`Platform::on_reference_removed`], until [`unwatch`](Self::unwatch). A removal either comes
    /// before `watch`, so that [`num_references`](Self::num_references) does not count the
    /// reference, or makes that call.
    ///
    /// The caller has added a reference, and keeps it while the pool is watched.
    pub fn watch(&self) {
        // Ordering: Relaxed here and in `unwatch`. The bit and the count are one word, whose
        // changes have one order. A thread that looks at the count receives what was done under the
        // references that are gone, because this continues the release sequences of their removals.
        let before = self.references.fetch_or(WATCHED, Ordering::Relaxed);
        debug_assert!(
            before.cast_signed() > 0,
            "the pool is already watched, or has ended"
        );
    }

    /// Ends what [`watch`](Self::watch) has begun. The caller then removes its reference.
    pub fn unwatch(&self) {
        // Ordering: Relaxed, see `watch`.
        let before = self.references.fetch_and(!WATCHED, Ordering::Relaxed);
        debug_assert!(before & WATCHED > 0, "not watched");
    }

    /// Returns the number of references. What was done under those that have been removed is
    /// visible.
    pub fn num_references(&self) -> usize {
        // Ordering: Acquire pairs with the Release of `remove_reference`.
        self.references.load(Ordering::Acquire) & !WATCHED
    }

    /// Whether the pool has references, and therefore keeps running.
    pub fn has_references(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `remove_reference`, so that a thread that
        // sees the end sees what was done under any reference. It also pairs with the Release of
        // `renew_reference`.
        self.references.load(Ordering::Acquire) > 0
    }

    /// Adds a reference to a pool that begins again after its end. It is the first reference,
    /// unless there are jobs left that hold references of their own.
    pub fn renew_reference(&self) {
        // Ordering: AcqRel. Acquire pairs with `remove_reference`: what was done before the end
        // happens before what is done from now on. Release pairs with `has_references`: a worker
        // that finds that the pool continues sees what the caller of this function did before.
        self.references.fetch_add(1, Ordering::AcqRel);
    }

    /// Requests that one worker stop. It must be a worker that [runs until
    /// then](crate::WorkerThread::run_until_stopped).
    #[doc(alias = "release")]
    pub fn request_stop(&self, worker: WorkerIndex) {
        let latch: *const CoreLatch = &raw const self.workers()[worker.get()].terminate;
        // SAFETY: 1. `self` is alive, and each worker's latch with it; 2. the worker waits for this
        // request.
        if unsafe { CoreLatch::set(latch) } {
            // Ordering: pairs with the fence of `LendSeats::give_back`. If that one comes first, we
            // find the slot of the worker open; if ours does, a guest that gives the worker back
            // sees the latch. Nothing weaker orders our write of the latch before our look at the
            // slot.
            fence(Ordering::SeqCst);
            self.wake_waiter(worker);
        }
    }

    fn terminate(&self) {
        for index in 0..self.num_workers() {
            self.request_stop(self.worker(index).expect("counted"));
        }
        P::on_end(self);
    }
}
