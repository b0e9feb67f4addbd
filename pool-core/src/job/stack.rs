//! Jobs that live in the frame of the thread that waits for them.

use core::fmt;

use super::{Body, Job, JobContext, JobHeader, JobRef};
use crate::{latch::Latch, platform::Platform};

/// A job on the stack of the thread that waits for it.
#[repr(C)]
pub struct StackJob<P: Platform, L, F, R> {
    header: JobHeader,
    latch: L,
    /// Belongs to the worker that runs the job, until the latch is set.
    body: Body<P, F, R>,
}

impl<P: Platform, L: fmt::Debug, F, R> fmt::Debug for StackJob<P, L, F, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StackJob")
            .field("latch", &self.latch)
            .finish_non_exhaustive()
    }
}

impl<P, L, F, R> StackJob<P, L, F, R>
where
    P: Platform,
    L: Latch,
    F: FnOnce(JobContext<'_, P>) -> R + Send,
    R: Send,
{
    /// Creates a job that sets `latch` when it has been run.
    ///
    /// If the job is never run, the closure is not dropped.
    #[inline]
    pub fn new(closure: F, latch: L) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            latch,
            body: Body::new(closure),
        }
    }

    /// Returns the latch that is set when the job has been run.
    #[inline]
    pub fn latch(&self) -> &L {
        &self.latch
    }

    /// Creates a reference to put into a queue.
    ///
    /// # Safety
    /// 1. `self` stays in place until the latch is set.
    /// 2. The reference is used once, by a worker that may [set](Latch::set) the latch.
    #[inline]
    pub unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: obligation 1 is forwarded to our caller; 2. closure and result are `Send`.
        unsafe { JobRef::new(self) }
    }

    /// Returns what the job returned. Continues its panic if it panicked.
    ///
    /// # Safety
    /// 1. The latch is set.
    /// 2. This is called once.
    pub unsafe fn into_result(&self) -> R {
        // SAFETY: 1. the job has been run, as the latch says; obligation 2 is forwarded to our
        // caller.
        unsafe { self.body.take_result() }
    }
}

// SAFETY: 1. the header comes first, and is made for `Self`.
unsafe impl<P, L, F, R> Job for StackJob<P, L, F, R>
where
    P: Platform,
    L: Latch,
    F: FnOnce(JobContext<'_, P>) -> R + Send,
    R: Send,
{
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // SAFETY: by obligation 1 the job is valid until its latch is set, and by 2. no other
        // thread uses its body until then. `Latch::set`: 1. it is alive; 2. and 3. by the
        // second obligation of `as_job_ref`. It takes the pointer, since afterwards the job
        // may be gone.
        unsafe {
            (*this).body.run_as_thief();
            Latch::set(&raw const (*this).latch);
        }
    }
}
