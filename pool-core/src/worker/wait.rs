//! How a worker waits: it runs other jobs, searches for some, and sleeps when there are none.

use sleep_core::CoreLatch;

use crate::{
    platform::Platform,
    unwind::no_unwind,
    worker::{WorkerThread, idle::Setter},
};

impl<P: Platform> WorkerThread<P> {
    /// Runs other jobs until the latch is set, and sleeps when there are none.
    #[inline]
    pub fn wait_until(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_until_cold(latch, Setter::Worker);
        }
    }

    /// Runs other jobs as [`wait_until`](Self::wait_until) does, until a latch is set that is not
    /// set by a worker of this pool: by another pool, or by any other thread.
    ///
    /// For the detection of deadlocks, this worker stays active while it sleeps here. What it waits
    /// for comes from outside, whatever the workers of this pool do.
    pub fn wait_for_outside(&self, latch: &CoreLatch) {
        if !latch.probe() {
            self.wait_until_cold(latch, Setter::Outside);
        }
    }

    /// Runs jobs until this worker is requested to stop. While it sleeps, a guest may take its
    /// seat.
    ///
    /// # Safety
    /// 1. As for [`run_until_stopped`](Self::run_until_stopped).
    pub(super) unsafe fn wait_for_stop(&self) {
        let latch = self.shared().terminate();
        if !latch.probe() {
            self.wait_until_cold(latch, Setter::Stop);
        }
    }

    #[cold]
    fn wait_until_cold(&self, latch: &CoreLatch, setter: Setter) {
        // The frame that waits holds jobs, or the latch.
        no_unwind(|| {
            while !latch.probe() {
                let job = self
                    .take_local_job()
                    .or_else(|| self.take_again())
                    .or_else(|| self.search_uncounted())
                    .or_else(|| self.search(latch, setter));
                match job {
                    // SAFETY: 1. the queue gave it to us alone.
                    Some(job) => unsafe { self.run(job) },
                    None => return,
                }
            }
        });
    }
}
