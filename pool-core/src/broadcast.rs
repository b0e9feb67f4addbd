//! Jobs that only one worker may run, and broadcasts of one such job to each worker of a pool.

use core::ptr::NonNull;

use sleep_core::WorkerIndex;

use crate::{job::JobRef, platform::Platform, queue::JobQueue, registry::Registry};

impl<P: Platform> Registry<P> {
    /// Gives each worker one job from the iterator, which only that worker may run. One fence is
    /// enough for all.
    ///
    /// The jobs are announced when the iterator has ended, even by a panic. So the iterator must
    /// not wait for a job that it has returned.
    ///
    /// Two broadcasts at the same time could be queued in different orders on different workers,
    /// and would never end if their jobs met at a barrier. So the caller must not let two calls for
    /// one pool overlap.
    ///
    /// # Safety
    /// 1. As for [`JobQueue::push`], for each job.
    pub unsafe fn inject_broadcast(
        &self,
        jobs: impl Iterator<Item = (NonNull<<P::Queue as JobQueue>::Node>, JobRef)>,
    ) {
        let _announced = AnnouncedAtEnd(self);
        for (worker, (node, job)) in self.workers().iter().zip(jobs) {
            // SAFETY: obligation 1 is forwarded to our caller.
            unsafe { worker.inbox.push(node, job) };
        }
    }

    /// Gives one worker a job that only it may run.
    ///
    /// # Safety
    /// 1. As for [`JobQueue::push`].
    pub unsafe fn inject_for(
        &self,
        worker: WorkerIndex,
        node: NonNull<<P::Queue as JobQueue>::Node>,
        job: JobRef,
    ) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.workers()[worker.get()].inbox.push(node, job) };
        self.announce_job_for(worker);
    }
}

/// Jobs in the inboxes of workers, which are announced when the value is dropped.
struct AnnouncedAtEnd<'r, P: Platform>(&'r Registry<P>);

impl<P: Platform> Drop for AnnouncedAtEnd<'_, P> {
    fn drop(&mut self) {
        self.0.announce_job_for_each();
    }
}
