//! The second half of a join, as a job.

use core::{marker::PhantomData, mem::MaybeUninit};

use deque_core::Position;

use crate::{
    job::{AwaitableHeader, Awaiting, Body, Job, JobContext, JobRef},
    latch::{Latch, SpinLatch},
    platform::Platform,
};

/// The part of a join's second half that does not depend on its closure. It says whether the job
/// has been run; it leads to the latch of its owner if that waits; until then it holds the job's
/// position in its owner's deque.
#[repr(transparent)]
pub(super) struct JoinHeader<P: Platform> {
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
    pub(super) fn is_done(&self) -> bool {
        self.header.is_done()
    }

    /// Returns the position where the owner has pushed the job.
    ///
    /// # Safety
    /// 1. This is called by the job's owner, and the job was not awaited.
    #[inline]
    pub(super) unsafe fn position(&self) -> Position {
        // SAFETY: obligation 1 is forwarded to our caller.
        Position::from_word(unsafe { self.header.note() })
    }

    /// Replaces the position, for a job that was pushed elsewhere or whose position is nowhere.
    ///
    /// # Safety
    /// 1. As for [`position`](Self::position).
    pub(super) unsafe fn set_position(&self, position: Position) {
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
    pub(super) unsafe fn set_awaited(
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
pub(super) struct JoinJob<P: Platform, F, R> {
    header: JoinHeader<P>,
    /// Belongs to the worker that took the job out of its queue, until the header says that it was
    /// run.
    body: Body<P, F, R>,
}

impl<P, F, R> JoinJob<P, F, R>
where
    P: Platform,
    F: FnOnce(JobContext<'_, P>) -> R + Send,
    R: Send,
{
    /// Creates a job for this position in the owner's deque. If the job is never run, the closure
    /// is not dropped.
    #[inline(always)]
    pub(super) fn new(closure: F, position: Position) -> Self {
        Self {
            header: JoinHeader::new::<Self>(position),
            body: Body::new(closure),
        }
    }

    #[inline]
    pub(super) fn header(&self) -> &JoinHeader<P> {
        &self.header
    }

    #[inline]
    pub(super) fn body(&self) -> &Body<P, F, R> {
        &self.body
    }

    /// Creates a reference to put into a queue.
    ///
    /// # Safety
    /// 1. `self` stays in place until the job is done, or until the reference was taken back from
    ///    the queue unused. If it is awaited, until the latch is set.
    #[inline]
    pub(super) unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: 1. and 2. of `new`: obligation 1 is forwarded to our caller; closure and result
        // are `Send`. 3. the job begins with an `AwaitableHeader`, whose note is a
        // position.
        unsafe { JobRef::with_position(self) }
    }
}

// SAFETY: 1. the header comes first, begins with a `JobHeader`, and is made for `Self`.
unsafe impl<P, F, R> Job for JoinJob<P, F, R>
where
    P: Platform,
    F: FnOnce(JobContext<'_, P>) -> R + Send,
    R: Send,
{
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
