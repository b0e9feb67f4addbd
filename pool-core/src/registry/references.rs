//! Who keeps a pool going, and its end when no one does any more.

use sleep_core::{CoreLatch, WorkerIndex};

use crate::{
    platform::Platform,
    primitive::{Ordering, fence},
    registry::Registry,
};

/// In the count of references: the pool is [watched](Registry::watch). It makes the count negative.
const WATCHED: usize = 1 << (usize::BITS - 1);

impl<P: Platform> Registry<P> {
    /// Adds a reference: of a user, or of a job that must be run before the workers stop.
    pub fn add_reference(&self) {
        self.add_references(1);
    }

    /// Adds this many references, as [`add_reference`](Self::add_reference) does.
    pub fn add_references(&self, count: usize) {
        // Ordering: Relaxed, a plain count: the caller's own reference keeps it above zero.
        let before = self.references.fetch_add(count, Ordering::Relaxed);
        debug_assert!(before > 0, "the workers have been requested to stop");
    }

    /// Adds a reference unless there is none left. Returns false if the workers have been requested
    /// to stop.
    pub fn try_add_reference(&self) -> bool {
        // Ordering: Relaxed, a plain count.
        self.references
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |references| {
                (references > 0).then_some(references + 1)
            })
            .is_ok()
    }

    /// Removes a reference. After the last one the workers stop, when they have run what is queued.
    pub fn remove_reference(&self) {
        // Ordering: AcqRel. Release hands what was done under this reference to the thread that
        // removes the last one, and to those that see the end (`has_references`). Acquire,
        // for that last thread, gathers it, and `terminate` passes it on to the workers.
        // With less, a worker could end without seeing it.
        let before = self.references.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before & !WATCHED > 0, "a reference is removed twice");
        // One comparison for both cases, because a count that is watched is negative.
        if before.cast_signed() <= 1 {
            self.reference_removed_cold(before);
        }
    }

    #[cold]
    fn reference_removed_cold(&self, before: usize) {
        if before == 1 {
            self.terminate();
        } else {
            P::on_reference_removed(self);
        }
    }

    /// Makes each [`remove_reference`](Self::remove_reference) call
    /// [`Platform::on_reference_removed`], until [`unwatch`](Self::unwatch). A removal either comes
    /// first, and [`num_references`](Self::num_references) counts it, or makes that call.
    ///
    /// The caller has added a reference, and keeps it while the pool is watched.
    pub fn watch(&self) {
        // Ordering: Relaxed here and in `unwatch`. The bit and the count are one word, whose
        // changes have one order. A thread that looks at the count receives what was done under the
        // references that are gone, because this continues the release sequences of their removals.
        let before = self.references.fetch_or(WATCHED, Ordering::Relaxed);
        debug_assert!(before.cast_signed() > 0, "watched, or ended");
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

    /// Whether the pool has references, so that it continues.
    pub fn has_references(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `remove_reference`, so that a thread that
        // sees the end sees what was done under any reference, and with that of
        // `renew_reference`.
        self.references.load(Ordering::Acquire) > 0
    }

    /// Adds a reference to a pool that begins again after its end. It is the first one, unless jobs
    /// are left that have theirs.
    pub fn renew_reference(&self) {
        // Ordering: AcqRel. Acquire pairs with `remove_reference`: what was done before the end
        // lies before what is done from now on. Release pairs with `has_references`: a
        // worker that finds the pool going on sees what its caller did before.
        self.references.fetch_add(1, Ordering::AcqRel);
    }

    /// Requests one worker to stop. It must be one that
    /// [runs until then](crate::WorkerThread::run_until_stopped).
    #[doc(alias = "release")]
    pub fn request_stop(&self, worker: WorkerIndex) {
        let latch: *const CoreLatch = self.workers()[worker.get()].terminate();
        // SAFETY: 1. `self` is alive, and each worker's latch with it; 4. the worker waits for this
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
