//! Fork and join: two closures, potentially at the same time.

use core::mem::MaybeUninit;

use deque_core::{FastPush, Order, Position, TakeBack};

use crate::{
    cold_arg::ColdArg,
    job::{JobContext, discard_panic},
    latch::SpinLatch,
    metrics::Observer as _,
    platform::Platform,
    unwind::no_unwind,
    worker::WorkerThread,
};

mod job;

use job::{JoinHeader, JoinJob};

impl<P: Platform> WorkerThread<P> {
    /// Runs both closures, potentially in parallel, and returns both results.
    ///
    /// Queues `b`, runs `a`, and then runs `b` too unless a thief has taken it. The closures get
    /// the context in which they run; `migrated` says for `a`, and for `b` if it stays, whether
    /// they came from outside.
    ///
    /// If the deque is full, the closures are run one after the other.
    ///
    /// # Panics
    /// Continues the panic of `a`, or if there is none that of `b`. Returns or unwinds only when
    /// both closures have ended, since both may borrow from the caller's frame.
    // Always inlined, so that captures are written once, directly into the job.
    #[inline(always)]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B, migrated: bool) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        let position = self.own().next_position();
        let job_b = JoinJob::<P, _, _>::new(b, position);
        // SAFETY: `as_job_ref`: 1. this frame is not left until the job is done or was taken back;
        // `fast_push`: 1. the position is from just above.
        let pushed = unsafe { self.own().fast_push(position, job_b.as_job_ref()) };
        if pushed != FastPush::Pushed {
            let mut room = MaybeUninit::uninit();
            return self.join_cold(pushed, ColdArg::new(a, &mut room), &job_b, migrated);
        }
        self.join_pushed(a, &job_b, migrated)
    }

    /// Runs `a`, and then `b` too unless it is stolen.
    #[inline(always)]
    fn join_pushed<A, B, RA, RB>(&self, a: A, job_b: &JoinJob<P, B, RB>, migrated: bool) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        let result_a = match P::catch_unwind(|| a(JobContext::on_worker(self, migrated))) {
            Ok(result) => result,
            Err(panic) => self.join_after_panic(job_b, panic),
        };
        let header = job_b.header();
        // The job at its position is this one. A thief that takes it moves `top` beyond the
        // position; and if this worker has popped it, that took the position away
        // (`JobRef::popped_by_owner`). With 32 bits a position can come round again while
        // `a` runs, if it makes 2³⁰ joins.
        let is_done_or_elsewhere = cfg!(target_pointer_width = "32") && header.is_done();
        let is_ours = !is_done_or_elsewhere
            // SAFETY: `position`: 1. we are the owner, and have not waited. `take_back`: 1. a push
            // has given it.
            && match unsafe { self.own().take_back(header.position()) } {
                TakeBack::Taken => true,
                answer => self.reclaim_or_wait(answer, header),
            };
        if is_ours {
            let context = JobContext::on_worker(self, migrated);
            // SAFETY: 1. we have just taken it out.
            (result_a, unsafe { job_b.body().run_inline(context) })
        } else {
            // SAFETY: 1. the job is done; 2. this is the only call.
            (result_a, unsafe { job_b.body().take_result() })
        }
    }

    /// Joins when the deque may be full, or when a worker sleeps or did so a short while ago.
    #[cold]
    #[inline(never)]
    fn join_cold<A, B, RA, RB>(
        &self,
        pushed: FastPush,
        a: ColdArg<'_, A>,
        job_b: &JoinJob<P, B, RB>,
        migrated: bool,
    ) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        let a = a.take();
        let is_queued = pushed != FastPush::LimitReached || {
            // SAFETY: 1. as in `join_context`.
            let job_ref = unsafe { job_b.as_job_ref() };
            self.own().try_push(job_ref).is_ok()
        };
        if is_queued {
            if self.own().deque().order() == Order::Fifo {
                // SAFETY: 1. we are the owner, and have not waited.
                unsafe { job_b.header().set_position(Position::NOWHERE) };
            }
            no_unwind(|| self.announce_join());
            return self.join_pushed(a, job_b, migrated);
        }
        self.observer().on_deque_full();
        let context = || JobContext::on_worker(self, migrated);
        match P::catch_unwind(|| a(context())) {
            // SAFETY: 1. it never was in a queue.
            Ok(result_a) => (result_a, unsafe { job_b.body().run_inline(context()) }),
            Err(panic) => {
                // SAFETY: 1. the closure was neither run nor queued; 2. this is its end.
                unsafe { job_b.body().drop_closure() };
                P::resume_unwind(panic)
            }
        }
    }

    /// Waits for a job that was stolen, or runs jobs that were pushed after it and must be run
    /// first. Returns true if the job was taken back, and false if it has been run.
    #[cold]
    #[inline(never)]
    fn reclaim_or_wait(&self, answer: TakeBack, job: &JoinHeader<P>) -> bool {
        let latch = SpinLatch::new(self);
        let mut room = MaybeUninit::uninit();
        // SAFETY: 1. the only call for this job; 2. we return, and the caller goes on, when the
        // latch is set or the job was taken back.
        if !unsafe { job.set_awaited(&latch, &mut room) } {
            return false;
        }
        let latch = latch.core();
        if answer == TakeBack::Stolen {
            self.wait_until(latch);
            return false;
        }
        let wanted = core::ptr::from_ref(job).cast();
        no_unwind(|| {
            while !latch.probe() {
                match self.take_local_job() {
                    Some(job) if job.refers_to(wanted) => return true,
                    // SAFETY: 1. the queue gave it to us alone.
                    Some(job) => unsafe { self.run(job) },
                    None => self.wait_until(latch),
                }
            }
            false
        })
    }

    /// Continues the panic of `a` when `b` has ended. `b` may be running and borrow from the
    /// caller's frame, so the frame must stay until then.
    #[cold]
    fn join_after_panic<B, RB>(&self, job_b: &JoinJob<P, B, RB>, panic: P::Panic) -> !
    where
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        let latch = SpinLatch::new(self);
        let mut room = MaybeUninit::uninit();
        // SAFETY: 1. and 2. as in `reclaim_or_wait`, which is not called for this job.
        if unsafe { job_b.header().set_awaited(&latch, &mut room) } {
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
