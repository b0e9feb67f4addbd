//! Fork and join: two closures, potentially at the same time.

use deque_core::{Pushed, TakeBack};
use sleep_core::CoreLatch;

use crate::{
    job::{StackJob, discard_panic},
    latch::SpinLatch,
    platform::Platform,
    worker::WorkerThread,
};

impl<P: Platform> WorkerThread<P> {
    /// Runs both closures, potentially in parallel, and returns both results.
    ///
    /// `b` is queued, `a` is run, and then `b` too unless a thief has taken it. The closures are
    /// told whether they migrated to another thread; `migrated` says it for `a`, and for `b` if
    /// it stays.
    ///
    /// If the deque is full, the closures are run one after the other.
    ///
    /// # Panics
    /// Continues the panic of `a`, or if there is none that of `b`. Returns or unwinds only when
    /// both closures have ended, since both may borrow from the caller's frame.
    #[inline]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B, migrated: bool) -> (RA, RB)
    where
        A: FnOnce(bool) -> RA,
        B: FnOnce(bool) -> RB + Send,
        RB: Send,
    {
        let job_b = StackJob::<P, _, _, _>::new(b, SpinLatch::new(self));
        // SAFETY: `as_job_ref`: 1. this frame is not left until the latch is set or the job was taken
        // back. `push`: 1. the reference is used for this alone.
        let pushed = unsafe { self.push(job_b.as_job_ref()) }.ok();

        let result_a = match P::catch_unwind(|| a(migrated)) {
            Ok(result) => result,
            Err(panic) => self.join_after_panic(&job_b, pushed.is_some(), panic),
        };

        let is_ours = match pushed {
            Some(pushed) => self.take_back(&job_b, pushed),
            None => true,
        };
        if is_ours {
            // SAFETY: 1. it never was in a queue, or we have just taken it out.
            (result_a, unsafe { job_b.run_inline(migrated) })
        } else {
            // SAFETY: 1. the latch is set; 2. we are the only one who waits.
            (result_a, unsafe { job_b.into_result() })
        }
    }

    /// Takes back a job that was pushed, or waits until it has been run: then false.
    #[inline]
    fn take_back<B, RB>(&self, job: &StackJob<P, SpinLatch<P>, B, RB>, pushed: Pushed) -> bool
    where
        B: FnOnce(bool) -> RB + Send,
        RB: Send,
    {
        let latch = job.latch().core();
        if latch.probe() {
            return false;
        }
        // It has not been run, so if we have popped it ourselves we still run it, further down the
        // stack, and would not be here. So nothing else is in its place.
        match self.own().take_back(pushed) {
            TakeBack::Taken => true,
            TakeBack::Stolen => {
                self.wait_until(latch);
                false
            }
            TakeBack::NotNewest => {
                self.take_back_from_below(core::ptr::from_ref(job).cast(), latch)
            }
        }
    }

    /// As `take_back`, when other jobs were pushed since and must be run first.
    #[cold]
    fn take_back_from_below(&self, wanted: *const (), latch: &CoreLatch) -> bool {
        while !latch.probe() {
            match self.take_local_job() {
                Some(job) if job.refers_to(wanted) => return true,
                // SAFETY: 1. the queue gave it to us alone.
                Some(job) => unsafe { self.run(job) },
                None => self.wait_until(latch),
            }
        }
        false
    }

    /// `a` panicked. `b` may be running and borrow from the caller's frame, so the frame must
    /// stay until `b` has ended.
    #[cold]
    fn join_after_panic<B, RB>(
        &self,
        job_b: &StackJob<P, SpinLatch<P>, B, RB>,
        queued: bool,
        panic: P::Panic,
    ) -> !
    where
        B: FnOnce(bool) -> RB + Send,
        RB: Send,
    {
        if queued {
            self.wait_until(job_b.latch().core());
            // The first panic counts; what `b` gave is dropped, its own panic included.
            // SAFETY: 1. the latch is set; 2. the caller does not ask for the result any more.
            if let Err(second) = P::catch_unwind(|| drop(unsafe { job_b.into_result() })) {
                discard_panic::<P>(second);
            }
        } else {
            // SAFETY: the closure was neither run nor queued.
            unsafe { job_b.drop_closure() };
        }
        P::resume_unwind(panic)
    }
}
