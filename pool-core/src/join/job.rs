//! The second half of a join, as a job.

use crate::{
    job::{AwaitableHeader, Body, Job, JobRef, RunBy},
    platform::Platform,
};

/// The second closure of a join, on the stack of the worker that joins.
///
/// It is made for each join, and nearly always taken back: so there is nothing in it that only a
/// thief's coming needs, see [`AwaitableHeader`].
#[repr(C)]
pub(super) struct JoinJob<P: Platform, F, R> {
    header: AwaitableHeader,
    /// Belongs to whoever took the job out of its queue, until the header says that it was run.
    body: Body<P, F, R>,
}

impl<P, F, R> JoinJob<P, F, R>
where
    P: Platform,
    F: FnOnce(RunBy<'_, P>) -> R + Send,
    R: Send,
{
    /// If the job is never run, the closure is not dropped.
    #[inline]
    pub(super) fn new(closure: F) -> Self {
        Self {
            header: AwaitableHeader::new::<Self>(),
            body: Body::new(closure),
        }
    }

    #[inline]
    pub(super) fn header(&self) -> &AwaitableHeader {
        &self.header
    }

    #[inline]
    pub(super) fn body(&self) -> &Body<P, F, R> {
        &self.body
    }

    /// A reference to put into a queue.
    ///
    /// # Safety
    /// 1. `self` stays in place until the job is done, or until the reference was taken back from
    ///    the queue unused. If it is awaited, until the latch is set.
    #[inline]
    pub(super) unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: 1. is handed on; 2. closure and result are `Send`.
        unsafe { JobRef::new(self) }
    }
}

// SAFETY: 1. the header comes first, begins with a `JobHeader`, and is made for `Self`.
unsafe impl<P, F, R> Job for JoinJob<P, F, R>
where
    P: Platform,
    F: FnOnce(RunBy<'_, P>) -> R + Send,
    R: Send,
{
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // SAFETY: by obligation 1 the job is valid until it is done, and by 2. nobody else uses its
        // body until then. `set_done` takes the pointer, since afterwards the job may be gone.
        unsafe {
            (*this).body.run_as_thief();
            AwaitableHeader::set_done::<P>(&raw const (*this).header);
        }
    }
}
