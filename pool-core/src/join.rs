//! Fork and join: two closures, potentially at the same time.

use deque_core::{Pushed, TakeBack};

use crate::{
    job::{RunBy, discard_panic},
    latch::SpinLatch,
    platform::Platform,
    worker::WorkerThread,
};

mod job;

use job::{JoinHeader, JoinJob};

impl<P: Platform> WorkerThread<P> {
    /// Runs both closures, potentially in parallel, and returns both results.
    ///
    /// `b` is queued, `a` is run, and then `b` too unless a thief has taken it. The closures are
    /// told by whom they are run; `migrated` says for `a`, and for `b` if it stays, whether they
    /// came from outside.
    ///
    /// If the deque is full, the closures are run one after the other.
    ///
    /// # Panics
    /// Continues the panic of `a`, or if there is none that of `b`. Returns or unwinds only when
    /// both closures have ended, since both may borrow from the caller's frame.
    // The compiler finds the better cut between the caller, this and `join_pushed` if it must put this
    // into the caller.
    #[inline(always)]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B, migrated: bool) -> (RA, RB)
    where
        A: FnOnce(RunBy<'_, P>) -> RA,
        B: FnOnce(RunBy<'_, P>) -> RB + Send,
        RB: Send,
    {
        let job_b = JoinJob::<P, _, _>::new(b);
        // SAFETY: 1. this frame is not left until the job is done or was taken back.
        let job_ref = unsafe { job_b.as_job_ref() };
        // One path of few registers: whatever is seldom needed goes on elsewhere to the end, so
        // that this frame need not save anything for it.
        match self.own().push_if_room(job_ref) {
            Some(pushed) if self.registry().sleep().all_are_awake() => {
                self.join_pushed(a, &job_b, pushed, migrated)
            }
            pushed => self.join_slowly(a, &job_b, pushed, migrated),
        }
    }

    /// Runs `a`, and then `b` too unless it is stolen.
    #[inline]
    fn join_pushed<A, B, RA, RB>(
        &self,
        a: A,
        job_b: &JoinJob<P, B, RB>,
        pushed: Pushed,
        migrated: bool,
    ) -> (RA, RB)
    where
        A: FnOnce(RunBy<'_, P>) -> RA,
        B: FnOnce(RunBy<'_, P>) -> RB + Send,
        RB: Send,
    {
        let result_a = match P::catch_unwind(|| a(RunBy::worker_itself(self, migrated))) {
            Ok(result) => result,
            Err(panic) => self.join_after_panic(job_b, panic),
        };
        let header = job_b.header();
        // If the job has not been run, nobody on this thread has popped it: who did would still be
        // running it, further down the stack, and we would not be here. So nothing else is in its
        // place.
        let is_ours = !header.is_done()
            && match self.own().take_back(pushed) {
                TakeBack::Taken => true,
                answer => self.take_back_later(answer, header),
            };
        if is_ours {
            // SAFETY: 1. we have just taken it out.
            (result_a, unsafe {
                job_b
                    .body()
                    .run_inline(RunBy::worker_itself(self, migrated))
            })
        } else {
            // SAFETY: 1. the job is done; 2. this is the only call.
            (result_a, unsafe { job_b.body().take_result() })
        }
    }

    /// The ring may be full, or somebody sleeps.
    #[cold]
    #[inline(never)]
    fn join_slowly<A, B, RA, RB>(
        &self,
        a: A,
        job_b: &JoinJob<P, B, RB>,
        pushed: Option<Pushed>,
        migrated: bool,
    ) -> (RA, RB)
    where
        A: FnOnce(RunBy<'_, P>) -> RA,
        B: FnOnce(RunBy<'_, P>) -> RB + Send,
        RB: Send,
    {
        // SAFETY: 1. as in `join_context`.
        let job_ref = unsafe { job_b.as_job_ref() };
        if let Some(pushed) = pushed.or_else(|| self.own().try_push(job_ref).ok()) {
            self.announce_job();
            return self.join_pushed(a, job_b, pushed, migrated);
        }
        match P::catch_unwind(|| a(RunBy::worker_itself(self, migrated))) {
            // SAFETY: 1. it never was in a queue.
            Ok(result_a) => (result_a, unsafe {
                job_b
                    .body()
                    .run_inline(RunBy::worker_itself(self, migrated))
            }),
            Err(panic) => {
                // SAFETY: 1. the closure was neither run nor queued; 2. this is its end.
                unsafe { job_b.body().drop_closure() };
                P::resume_unwind(panic)
            }
        }
    }

    /// A job that was pushed is stolen, or others were pushed since, which must be run first. False
    /// when it has been run; true if it was taken back.
    #[cold]
    #[inline(never)]
    fn take_back_later(&self, answer: TakeBack, job: &JoinHeader<P>) -> bool {
        let latch = SpinLatch::new(self);
        // SAFETY: 1. the only call for this job; 2. we return, and the caller goes on, when the latch
        // is set or the job was taken back.
        if !unsafe { job.set_awaited(&latch) } {
            return false;
        }
        let latch = latch.core();
        if answer == TakeBack::Stolen {
            self.wait_until(latch);
            return false;
        }
        let wanted = core::ptr::from_ref(job).cast();
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
    fn join_after_panic<B, RB>(&self, job_b: &JoinJob<P, B, RB>, panic: P::Panic) -> !
    where
        B: FnOnce(RunBy<'_, P>) -> RB + Send,
        RB: Send,
    {
        let latch = SpinLatch::new(self);
        // SAFETY: 1. and 2. as in `take_back_later`, which is not called for this job.
        if unsafe { job_b.header().set_awaited(&latch) } {
            self.wait_until(latch.core());
        }
        // The first panic counts; what `b` gave is dropped, its own panic included.
        // SAFETY: 1. the job is done; 2. the caller does not ask for the result any more.
        if let Err(second) = P::catch_unwind(|| drop(unsafe { job_b.body().take_result() })) {
            discard_panic::<P>(second);
        }
        P::resume_unwind(panic)
    }
}
