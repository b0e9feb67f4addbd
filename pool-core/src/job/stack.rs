//! Jobs that live in the frame of the thread that waits for them.

use super::{Body, Job, JobFn, JobHeader, JobRef};
use crate::latch::Latch;

/// A job on the stack of the thread that waits for it.
#[repr(C)]
pub(crate) struct StackJob<L: Latch, F: JobFn<L::Platform>> {
    header: JobHeader,
    latch: L,
    /// Belongs to the worker that runs the job, until the latch is set.
    body: Body<L::Platform, F>,
}

impl<L: Latch, F: JobFn<L::Platform>> StackJob<L, F> {
    /// Creates a job with this header, which sets `latch` when it has been run.
    ///
    /// If the job is never run, the closure is not dropped.
    ///
    /// # Safety
    /// 1. The header was made for this type.
    #[inline]
    pub(crate) unsafe fn with_header(header: JobHeader, closure: F, latch: L) -> Self {
        Self {
            header,
            latch,
            body: Body::new(closure),
        }
    }

    #[cfg(test)]
    pub(crate) fn new(closure: F, latch: L) -> Self {
        // SAFETY: 1. it is.
        unsafe { Self::with_header(JobHeader::new::<Self>(), closure, latch) }
    }

    /// Returns the latch that is set when the job has been run.
    #[inline]
    pub(crate) fn latch(&self) -> &L {
        &self.latch
    }

    /// Creates a reference to put into a queue.
    ///
    /// # Safety
    /// 1. `self` stays in place until the latch is set.
    /// 2. The reference is used once, by a worker that may [set](Latch::set) the latch.
    #[inline]
    pub(crate) unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: obligation 1 is forwarded to our caller; 2. closure and result are `Send`.
        unsafe { JobRef::new(self) }
    }

    /// Returns what the job returned. Continues its panic if it panicked.
    ///
    /// # Safety
    /// 1. The latch is set.
    /// 2. This is called once.
    pub(crate) unsafe fn take_result(&self) -> F::Returned {
        // SAFETY: 1. the job has been run, as the latch says; obligation 2 is forwarded to our
        // caller.
        unsafe { self.body.take_result() }
    }
}

// SAFETY: 1. the header comes first, and is made for `Self`.
unsafe impl<L: Latch, F: JobFn<L::Platform>> Job for StackJob<L, F> {
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
