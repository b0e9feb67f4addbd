//! Calls: closures that a worker runs for a thread that waits for them.

use core::ptr::{self, NonNull};

use super::Registry;
use crate::{
    job::{AnyClosure, JobContext, StackJob},
    latch::{BlockingLatch, SpinLatch},
    platform::Platform,
    queue::JobQueue,
    unwind::no_unwind,
    worker::WorkerThread,
};

impl<P: Platform> Registry<P> {
    /// Runs a closure on a worker of this pool. If this thread is one, runs it here; otherwise
    /// injects it and waits. The closure is told whether it migrated.
    ///
    /// # Panics
    /// Continues the closure's panic.
    pub fn in_worker<R: Send>(
        &self,
        closure: impl FnOnce(&WorkerThread<P>, bool) -> R + Send,
    ) -> R {
        // SAFETY: a thread's worker lives as long as the thread is one.
        match unsafe { P::current().as_ref() } {
            Some(worker) if ptr::eq(worker.registry(), self) => closure(worker, false),
            current => self.inject_call(current, closure),
        }
    }

    /// Runs a closure on a worker of this pool, for a thread that is not a worker of any pool.
    pub fn in_worker_cold<R: Send>(
        &self,
        closure: impl FnOnce(&WorkerThread<P>, bool) -> R + Send,
    ) -> R {
        self.inject_call(None, closure)
    }

    /// Injects a closure, and returns its result when it has been run. The caller is `current` if
    /// it is a worker of another pool.
    ///
    /// The job does not have the closure's type. So what runs it is compiled once, and not once for
    /// each closure.
    #[cold]
    fn inject_call<R: Send, F>(&self, current: Option<&WorkerThread<P>>, closure: F) -> R
    where
        F: FnOnce(&WorkerThread<P>, bool) -> R + Send,
    {
        let mut closure = Some(closure);
        let mut result = None;
        let closure: AnyClosure<'_, P> = &mut |context: JobContext<'_, P>| {
            let closure = closure.take().expect("a job is run once");
            result = Some(closure(context.worker(), context.migrated()));
        };
        match current {
            None => self.run_cold(StackJob::named::<F>(closure, BlockingLatch::new())),
            Some(worker) => {
                self.run_cross(
                    worker,
                    StackJob::named::<F>(closure, SpinLatch::cross(worker)),
                );
            }
        }
        result.expect("the job has been run")
    }

    /// Injects the job of a thread that is not a worker, which waits for it.
    #[cold]
    fn run_cold(&self, job: StackJob<BlockingLatch<P>, AnyClosure<'_, P>>) {
        let mut node = P::Queue::node();
        // SAFETY: `inject`: 1. job and node stay here until the latch is set, after the job has
        // been run; `as_job_ref`: 1. as well, 2. any thread may set the latch.
        // `take_result`: 1. it is set; 2. this is the only call.
        unsafe {
            no_unwind(|| {
                self.inject(NonNull::from(&mut node), job.as_job_ref());
                let mut is_set = false;
                P::wait_outside(self, || {
                    job.latch().wait();
                    is_set = true;
                });
                // The job may still be running in this frame.
                assert!(is_set, "a platform that does not wait");
                self.note_resumed_caller();
            });
            job.take_result();
        }
    }

    /// Injects the job of a worker of another pool. It runs jobs of its own pool while it waits.
    #[cold]
    fn run_cross(
        &self,
        current: &WorkerThread<P>,
        job: StackJob<SpinLatch<'_, P>, AnyClosure<'_, P>>,
    ) {
        let mut node = P::Queue::node();
        // SAFETY: as in `run_cold`; the latch, too, is one that any thread may set.
        unsafe {
            no_unwind(|| {
                self.inject(NonNull::from(&mut node), job.as_job_ref());
                current.wait_for_outside(job.latch().core());
            });
            job.take_result();
        }
    }
}
