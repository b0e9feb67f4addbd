//! Jobs: what deques and queues hold.

use core::{
    cell::UnsafeCell,
    fmt,
    mem::{ManuallyDrop, MaybeUninit},
};

use deque_core::Element;

use crate::{latch::Latch, platform::Platform, worker::WorkerThread};

#[cfg(test)]
mod tests;

/// Something that is run once, by whoever takes it.
pub trait Job {
    /// Runs the job.
    ///
    /// Must not unwind: a panic is kept and handed to whoever waits for the job.
    ///
    /// # Safety
    /// 1. `this` was made from a pointer to a `Self` that is still valid.
    /// 2. It is called once for each [`JobRef`] made for that pointer.
    unsafe fn execute(this: *const ());
}

/// A job without its type: two words.
///
/// Whoever makes one sees to it that the job lives until it has been run.
#[derive(Clone, Copy)]
pub struct JobRef {
    job: *const (),
    execute: unsafe fn(*const ()),
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
    /// 1. The job stays valid until it has been run.
    /// 2. It may be run by another thread.
    pub unsafe fn new<J: Job>(job: *const J) -> Self {
        Self {
            job: job.cast(),
            execute: J::execute,
        }
    }

    /// Runs the job.
    ///
    /// # Safety
    /// 1. This reference, of which there may be copies, is used once.
    #[inline]
    pub unsafe fn execute(self) {
        // SAFETY: the job is valid by the obligations of `new`, and run once by obligation 1.
        unsafe { (self.execute)(self.job) }
    }

    /// Whether this is a reference to the job at this address.
    #[inline]
    pub fn refers_to(self, job: *const ()) -> bool {
        core::ptr::eq(self.job, job)
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobRef").field(&self.job).finish()
    }
}

// SAFETY: 1. both words come back as they were; 2. a reference owns nothing.
unsafe impl Element for JobRef {
    type Words = [*mut (); 2];

    #[inline]
    fn into_words(self) -> Self::Words {
        [self.job.cast_mut(), self.execute as *mut ()]
    }

    #[inline]
    unsafe fn from_words([job, execute]: Self::Words) -> Self {
        // SAFETY: by obligation 1 the word came from such a function pointer.
        let execute = unsafe { core::mem::transmute::<*mut (), unsafe fn(*const ())>(execute) };
        Self { job, execute }
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

/// A job on the stack of the thread that waits for it.
pub struct StackJob<P: Platform, L, F, R> {
    latch: L,
    /// Taken by whoever runs the job.
    closure: UnsafeCell<ManuallyDrop<F>>,
    /// Written by whoever runs the job, unless inline, before the latch is set.
    result: UnsafeCell<MaybeUninit<Result<R, P::Panic>>>,
}

impl<P, L, F, R> StackJob<P, L, F, R>
where
    P: Platform,
    L: Latch,
    F: FnOnce(RunBy<'_, P>) -> R + Send,
    R: Send,
{
    /// A job that sets `latch` when it has been run.
    ///
    /// If the job is never run, the closure is not dropped.
    #[inline]
    pub fn new(closure: F, latch: L) -> Self {
        Self {
            latch,
            closure: UnsafeCell::new(ManuallyDrop::new(closure)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// What is set when the job has been run.
    #[inline]
    pub fn latch(&self) -> &L {
        &self.latch
    }

    /// A reference to put into a queue.
    ///
    /// # Safety
    /// 1. `self` stays in place until the latch is set, or until the reference was taken back from
    ///    the queue unused.
    #[inline]
    pub unsafe fn as_job_ref(&self) -> JobRef {
        // SAFETY: 1. is handed on; 2. closure and result are `Send`.
        unsafe { JobRef::new(self) }
    }

    /// Runs the closure here. A panic passes through.
    ///
    /// # Safety
    /// 1. The job has not been run and is in no queue any more.
    #[inline]
    pub unsafe fn run_inline(&self, by: RunBy<'_, P>) -> R {
        // SAFETY: by obligation 1 nobody else uses or has used the closure.
        let closure = unsafe { ManuallyDrop::take(&mut *self.closure.get()) };
        closure(by)
    }

    /// Drops the closure of a job that will not be run.
    ///
    /// # Safety
    /// 1. The job has not been run and is in no queue.
    /// 2. It is not used afterwards.
    pub unsafe fn drop_closure(&self) {
        // SAFETY: by 1. and 2. the closure is dropped once and not used.
        unsafe { ManuallyDrop::drop(&mut *self.closure.get()) };
    }

    /// What the job returned. Continues its panic if it panicked.
    ///
    /// # Safety
    /// 1. The latch is set.
    /// 2. This is called once.
    pub unsafe fn into_result(&self) -> R {
        // SAFETY: by obligation 1 the result was written, and seen through the latch; by 2. it is
        // taken once.
        match unsafe { (*self.result.get()).assume_init_read() } {
            Ok(result) => result,
            Err(panic) => P::resume_unwind(panic),
        }
    }
}

impl<P, L, F, R> Job for StackJob<P, L, F, R>
where
    P: Platform,
    L: Latch,
    F: FnOnce(RunBy<'_, P>) -> R + Send,
    R: Send,
{
    unsafe fn execute(this: *const ()) {
        let this: *const Self = this.cast();
        // SAFETY: by obligation 1 the job is valid until its latch is set, and by 2. nobody else
        // uses closure or result until then. `Latch::set` takes the pointer, since afterwards the
        // job may be gone.
        unsafe {
            let closure = ManuallyDrop::take(&mut *(*this).closure.get());
            let result = P::catch_unwind(|| closure(RunBy::THIEF));
            (*(*this).result.get()).write(result);
            Latch::set(&raw const (*this).latch);
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
