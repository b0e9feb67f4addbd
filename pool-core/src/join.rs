//! Fork and join: two closures, potentially at the same time.

use core::{
    marker::PhantomData,
    mem::{ManuallyDrop, MaybeUninit},
};

use deque_core::{FastPush, Position, TakeBack};

use crate::{
    job::{AwaitableHeader, Awaiting, Body, Job, JobContext, JobFn, JobRef, discard_panic},
    latch::{Latch, SpinLatch},
    metrics::{Event, Observer as _},
    platform::Platform,
    worker::{
        WorkerThread,
        cold::{ColdPath, Path},
    },
};

mod cold_arg;
mod in_place;
#[cfg(all(test, not(loom)))]
mod tests;
mod unreceived;

pub use cold_arg::ColdArg;
use unreceived::Unreceived;

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
    // Inlined, so that the caller writes the closures once, to where they stay.
    #[inline(always)]
    pub fn join_context<A, B, RA, RB>(&self, a: A, b: B, migrated: bool) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        self.join_outlined(ManuallyDrop::new(a), ManuallyDrop::new(b), migrated)
    }

    /// Queues `b`, runs `a`, and then runs `b` too unless it is stolen.
    #[inline(always)]
    fn join_moved<A, B, RA, RB>(&self, a: A, b: B, migrated: bool) -> (RA, RB)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: FnOnce(JobContext<'_, P>) -> RB + Send,
        RB: Send,
    {
        let position = self.own().next_position();
        let job_b = JoinJob::<P, _>::new(b, position);
        // SAFETY: 1. this frame is not left until the job is done or was taken back.
        let job = unsafe { job_b.as_job_ref() };
        // SAFETY: 1. the position is from just above.
        let pushed = unsafe { self.own().fast_push(position, job) };
        if pushed != FastPush::Pushed && !self.queue_half(pushed, job, &job_b.header) {
            let mut room = MaybeUninit::uninit();
            return self.join_in_order(ColdArg::new(a, &mut room), &job_b, migrated);
        }
        self.join_pushed(a, &job_b, migrated)
    }

    /// Runs `a`, and then `b` too unless it is stolen.
    #[inline(always)]
    fn join_pushed<A, B, RA>(
        &self,
        a: A,
        job_b: &JoinJob<P, B>,
        migrated: bool,
    ) -> (RA, B::Returned)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: JobFn<P>,
    {
        // By reference, since the compiler does not always inline `catch_unwind`, and then moves
        // what the closure captures: see `InPlace`.
        let mut first = ManuallyDrop::new((a, self, migrated));
        let first = &mut first;
        let result_a = match P::catch_unwind(|| {
            // SAFETY: it is there, and is not used again.
            let (a, worker, migrated) = unsafe { ManuallyDrop::take(first) };
            a(JobContext::on_worker(worker, migrated))
        }) {
            Ok(result) => Unreceived::<P, _>::new(result),
            Err(panic) => self.join_after_panic(job_b, panic),
        };
        let header = &job_b.header;
        // With 32 bits a position can come round again while `a` runs, if the deque makes 2²⁹
        // steps. Then the job may be done, and have no position any more.
        let is_done = cfg!(target_pointer_width = "32") && header.is_done();
        let is_ours = !is_done
            && match self.take_back(job_b) {
                TakeBack::Taken => true,
                answer => self.reclaim_or_wait(answer, header),
            };
        let result_b = if is_ours {
            let context = JobContext::on_worker(self, migrated);
            // SAFETY: 1. we have just taken it out.
            unsafe { job_b.body.run_inline(context) }
        } else {
            // SAFETY: 1. the job is done; 2. this is the only call.
            unsafe { job_b.body.take_result() }
        };
        (result_a.receive(), result_b)
    }

    /// Queues the second half when the fast push has not. Returns false if the deque is full.
    #[cold]
    #[inline(never)]
    fn queue_half(&self, pushed: FastPush, job: JobRef, header: &JoinHeader<P>) -> bool {
        P::run_cold(ColdPath(Path::QueueHalf(self, pushed, job, header)))
    }

    /// Runs both halves of a join, one after the other, when the deque is full.
    #[cold]
    #[inline(never)]
    fn join_in_order<A, B, RA>(
        &self,
        a: ColdArg<'_, A>,
        job_b: &JoinJob<P, B>,
        migrated: bool,
    ) -> (RA, B::Returned)
    where
        A: FnOnce(JobContext<'_, P>) -> RA,
        B: JobFn<P>,
    {
        let a = a.take();
        self.observer().observe(Event::DequeFull, P::now);
        let context = || JobContext::on_worker(self, migrated);
        match P::catch_unwind(|| a(context())) {
            Ok(result_a) => {
                let result_a = Unreceived::<P, _>::new(result_a);
                // SAFETY: 1. it never was in a queue.
                let result_b = unsafe { job_b.body.run_inline(context()) };
                (result_a.receive(), result_b)
            }
            Err(panic) => {
                // The first panic counts, and not that of the drop.
                // SAFETY: 1. the closure was neither run nor queued; 2. this is its end.
                let drop_b = || unsafe { job_b.body.drop_closure() };
                if let Err(second) = P::catch_unwind(drop_b) {
                    discard_panic::<P>(second);
                }
                P::resume_unwind(panic)
            }
        }
    }

    /// Takes a job that is not done out of this worker's deque, if it is the newest one there.
    #[inline(always)]
    fn take_back<B: JobFn<P>>(&self, job: &JoinJob<P, B>) -> TakeBack {
        // SAFETY: 1. we are the owner, and have not waited.
        let position = unsafe { job.header.position() };
        // The job at its position is this one. A thief that takes it moves `top` beyond the
        // position; and if this worker has popped it, that took the position away
        // (`JobRef::popped_by_owner`). With 32 bits that may be another position of the same
        // number.
        let may_be_other = cfg!(target_pointer_width = "32") && {
            let job = core::ptr::from_ref(job).cast();
            !(self.own()).newest_is(position, |words| JobRef::do_refer_to(words, job))
        };
        if may_be_other {
            return TakeBack::NotNewest;
        }
        // SAFETY: 1. a push has given it.
        unsafe { self.own().take_back(position) }
    }

    /// Takes the job back when it is not the newest one, and returns true, or waits for it.
    #[cold]
    #[inline(never)]
    fn reclaim_or_wait(&self, answer: TakeBack, job: &JoinHeader<P>) -> bool {
        P::run_cold(ColdPath(Path::ReclaimOrWait(self, answer, job)))
    }

    /// Continues the panic of `a` when `b` has ended. `b` may be running and borrow from the
    /// caller's frame, so the frame must stay until then.
    #[cold]
    fn join_after_panic<B: JobFn<P>>(&self, job_b: &JoinJob<P, B>, panic: P::Panic) -> ! {
        let latch = SpinLatch::new(self);
        let mut room = MaybeUninit::uninit();
        let awaited = self.await_job(&job_b.header);
        // SAFETY: 1. and 2. as in `reclaim_or_wait`, which is not called for this job.
        if unsafe { job_b.header.set_awaited(&latch, &mut room) } {
            self.wait_for(awaited, latch.core());
        }
        // The first panic counts; what `b` gave is dropped, its own panic included.
        // SAFETY: 1. the job is done; 2. the caller does not ask for the result any more.
        if let Err(second) = P::catch_unwind(|| drop(unsafe { job_b.body.take_result() })) {
            discard_panic::<P>(second);
        }
        P::resume_unwind(panic)
    }
}

/// The part of a join's second half that does not depend on its closure. It says whether the job
/// has been run. It holds the job's position in the owner's deque until the owner waits; then it
/// leads to the owner's latch.
#[repr(transparent)]
pub(crate) struct JoinHeader<P: Platform> {
    header: AwaitableHeader,
    /// The type of the header's latch.
    latch: PhantomData<*const SpinLatch<'static, P>>,
}

impl<P: Platform> JoinHeader<P> {
    #[inline(always)]
    fn new<J: Job>(position: Position) -> Self {
        Self {
            header: AwaitableHeader::new::<J>(position.into_word()),
            latch: PhantomData,
        }
    }

    /// Whether the job has been run. What it wrote is visible then.
    #[inline]
    fn is_done(&self) -> bool {
        self.header.is_done()
    }

    /// Returns the position where the owner has pushed the job.
    ///
    /// # Safety
    /// 1. This is called by the job's owner, and the job was not awaited.
    #[inline]
    pub(crate) unsafe fn position(&self) -> Position {
        // SAFETY: obligation 1 is forwarded to our caller.
        Position::from_word(unsafe { self.header.note() })
    }

    /// Replaces the position, for a job that was pushed elsewhere or whose position is nowhere.
    ///
    /// # Safety
    /// 1. As for [`position`](Self::position).
    pub(crate) unsafe fn set_position(&self, position: Position) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.header.set_note(position.into_word()) };
    }

    /// Leaves a latch to be set when the job has been run. Returns false if it has been run
    /// already, and the latch will not be used.
    ///
    /// # Safety
    /// 1. This is called by the job's owner, and for each job once.
    /// 2. After true, job, latch and room stay in place, and the room untouched, until the latch is
    ///    set or the job was taken back from its queue.
    pub(crate) unsafe fn set_awaited(
        &self,
        latch: &SpinLatch<'_, P>,
        room: &mut MaybeUninit<Awaiting>,
    ) -> bool {
        // SAFETY: obligations 1 and 2 are forwarded to our caller.
        unsafe {
            self.header
                .set_awaited(core::ptr::from_ref(latch).cast(), room)
        }
    }

    /// Marks the job as run: its owner may go on, and end the frame that holds the job.
    ///
    /// # Safety
    /// 1. `this` points to the header of a job that has just been run, and what it leaves is
    ///    written.
    unsafe fn set_done(this: *const Self) {
        // SAFETY: obligation 1 is forwarded to our caller; 2. the second obligation of
        // `set_awaited`, which left a latch of this type. `Latch::set`: 1. it stays until
        // it is set; 2. a job is done once; 3. a thief runs the job, which is a worker of
        // the same pool.
        unsafe {
            if let Some(latch) = AwaitableHeader::set_done(&raw const (*this).header) {
                Latch::set(latch.cast::<SpinLatch<'_, P>>());
            }
        }
    }
}

/// The second closure of a join, on the stack of the worker that joins.
///
/// It is made for each join, and nearly always taken back. So it contains nothing that is needed
/// only when a thief comes, see [`AwaitableHeader`].
#[repr(C)]
struct JoinJob<P: Platform, F: JobFn<P>> {
    header: JoinHeader<P>,
    /// Belongs to the worker that took the job out of its queue, until the header says that it was
    /// run.
    body: Body<P, F>,
}

impl<P: Platform, F: JobFn<P>> JoinJob<P, F> {
    /// Creates a job for this position in the owner's deque. If the job is never run, the closure
    /// is not dropped.
    #[inline(always)]
    fn new(closure: F, position: Position) -> Self {
        Self {
            header: JoinHeader::new::<Self>(position),
            body: Body::new(closure),
        }
    }

    /// Creates a reference to put into a queue.
    ///
    /// # Safety
    /// 1. `self` stays in place until the job is done, or until the reference was taken back from
    ///    the queue unused. If it is awaited, until the latch is set.
    #[inline]
    unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: 1. and 2. of `new`: obligation 1 is forwarded to our caller; closure and result
        // are `Send`. 3. the job begins with an `AwaitableHeader`, whose note is a
        // position.
        unsafe { JobRef::with_position(self) }
    }
}

// SAFETY: 1. the header comes first, begins with a `JobHeader`, and is made for `Self`.
unsafe impl<P: Platform, F: JobFn<P>> Job for JoinJob<P, F> {
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // SAFETY: by obligation 1 the job is valid until it is done, and by 2. no other thread uses
        // its body until then. `set_done` takes the pointer, since afterwards the job may be gone.
        unsafe {
            (*this).body.run_as_thief();
            JoinHeader::set_done(&raw const (*this).header);
        }
    }
}
