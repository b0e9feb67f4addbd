//! Jobs: what deques and queues hold.

use core::{fmt, ptr::NonNull};

use deque_core::Element;

use crate::{platform::Platform, worker::WorkerThread};

mod body;
mod header;
mod stack;

#[cfg(test)]
mod tests;

pub(crate) use body::Body;
pub use header::JobHeader;
pub(crate) use header::{AwaitableHeader, Awaiting};
pub use stack::StackJob;

/// Something that is run once, by whoever takes it.
///
/// # Safety
/// 1. The type is `repr(C)`, and its first field is a [`JobHeader`] made for it, or begins with one.
pub unsafe trait Job: Sized {
    /// Runs the job.
    ///
    /// Must not unwind: a panic is kept and handed to the thread that waits for the job. Where it
    /// unwinds all the same, the process ends, if the job was run by a worker that waits.
    ///
    /// # Safety
    /// 1. `this` was made from a pointer to a `Self` that is still valid.
    /// 2. It is called once for each [`JobRef`] made for that pointer.
    unsafe fn execute(this: *const ());
}

/// A job without its type: one word.
///
/// Whoever makes one sees to it that the job lives until it has been run.
#[derive(Clone, Copy)]
pub struct JobRef {
    job: NonNull<JobHeader>,
}

// SAFETY: a reference to a job says nothing of the thread it is on. `JobRef::new` demands that the
// job itself may be run by another thread.
unsafe impl Send for JobRef {}
// SAFETY: as above; it is only ever copied.
unsafe impl Sync for JobRef {}

impl JobRef {
    /// A reference to a job.
    ///
    /// # Safety
    /// 1. The job is valid, and stays so until it has been run.
    /// 2. It may be run by another thread.
    #[inline]
    pub unsafe fn new<J: Job>(job: *const J) -> Self {
        Self {
            // SAFETY: by obligation 1 it leads to a job.
            job: unsafe { NonNull::new_unchecked(job.cast_mut().cast()) },
        }
    }

    /// Runs the job.
    ///
    /// # Safety
    /// 1. This reference, of which there may be copies, is used once.
    #[inline]
    pub unsafe fn execute(self) {
        let job = self.job.as_ptr().cast_const();
        // SAFETY: the job is valid by the obligations of `new`, begins with its header, and is run
        // once by obligation 1.
        unsafe { (JobHeader::execute(job))(job.cast()) }
    }

    /// Whether this is a reference to the job at this address.
    #[inline]
    pub fn refers_to(self, job: *const ()) -> bool {
        core::ptr::eq(self.job.as_ptr().cast(), job)
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobRef").field(&self.job).finish()
    }
}

// SAFETY: 1. the word comes back as it was; 2. a reference owns nothing.
unsafe impl Element for JobRef {
    type Words = [*mut (); 1];

    #[inline]
    fn into_words(self) -> Self::Words {
        [self.job.as_ptr().cast()]
    }

    #[inline]
    unsafe fn from_words([job]: Self::Words) -> Self {
        Self {
            // SAFETY: by obligation 1 the word came from such a pointer.
            job: unsafe { NonNull::new_unchecked(job.cast()) },
        }
    }
}

/// By whom a closure is run.
pub struct RunBy<'w, P: Platform> {
    /// If that is known.
    worker: Option<&'w WorkerThread<P>>,
    migrated: bool,
}

impl<'w, P: Platform> RunBy<'w, P> {
    const THIEF: Self = Self {
        worker: None,
        migrated: true,
    };

    /// By this worker, after having come from outside or not.
    #[inline]
    pub(crate) fn worker_itself(worker: &'w WorkerThread<P>, migrated: bool) -> Self {
        Self {
            worker: Some(worker),
            migrated,
        }
    }

    /// Whether it came by way of a queue: from another thread, as a rule.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }

    /// The worker.
    #[inline]
    pub fn worker(&self) -> &'w WorkerThread<P> {
        match self.worker {
            Some(worker) => worker,
            // SAFETY: only workers run jobs, and a thread's worker lives as long as the thread is
            // one.
            None => unsafe { P::current().as_ref() }.expect("jobs run on workers"),
        }
    }
}

/// Drops a panic that nobody will see. Its payload may panic when it is dropped, which must end
/// neither a worker nor the panic that is under way.
pub(crate) fn discard_panic<P: Platform>(panic: P::Panic) {
    if let Err(another) = P::catch_unwind(|| drop(panic)) {
        core::mem::forget(another);
    }
}
