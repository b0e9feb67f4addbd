//! Jobs: what deques and queues hold.

use core::{fmt, mem::ManuallyDrop, ptr::NonNull};

use deque_core::{Element, Position};

use crate::{platform::Platform, primitive::UnsafeCell, worker::WorkerThread};

mod header;
mod runner;
mod stack;

#[cfg(test)]
mod tests;

pub use header::JobHeader;
pub(crate) use header::{AwaitableHeader, Awaiting};
pub use runner::JobName;
pub(crate) use stack::StackJob;

/// Something that is run once, by the worker that takes it from its queue.
///
/// # Safety
/// 1. The type is `repr(C)`, and its first field is a [`JobHeader`] made for it, or begins with
///    one.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// use pool_core::{Job, JobHeader, JobRef};
///
/// #[repr(C)]
/// struct Count {
///     header: JobHeader,
///     runs: AtomicU32,
/// }
///
/// // SAFETY: 1. the header comes first, and is made for this type.
/// unsafe impl Job for Count {
///     unsafe fn execute(this: *const ()) {
///         // SAFETY: by obligation 1 it is one, and valid.
///         let this = unsafe { &*this.cast::<Self>() };
///         this.runs.fetch_add(1, Relaxed);
///     }
/// }
///
/// let job = Count { header: JobHeader::new::<Count>(), runs: AtomicU32::new(0) };
/// // SAFETY: 1. it lives until it has been run, below; 2. it is `Sync`.
/// let reference = unsafe { JobRef::new(&raw const job) };
/// // SAFETY: 1. it is used once. A pool's workers do this.
/// unsafe { reference.execute() };
/// assert_eq!(job.runs.load(Relaxed), 1);
/// ```
pub unsafe trait Job: Sized {
    /// Runs the job.
    ///
    /// Must not unwind: a panic is kept for the thread that waits for the job. If a job unwinds
    /// nevertheless while a waiting worker runs it, the process ends.
    ///
    /// # Safety
    /// 1. `this` was made from a pointer to a `Self` that is still valid.
    /// 2. It is called once for each [`JobRef`] made for that pointer.
    unsafe fn execute(this: *const ());
}

/// A job without its type: one word.
///
/// Its creator ensures that the job lives until it has been run.
///
/// # Examples
/// See [`Platform`].
#[derive(Clone, Copy)]
pub struct JobRef {
    /// The job's address, and [`HAS_POSITION`](Self::HAS_POSITION).
    job: NonNull<JobHeader>,
}

// SAFETY: a reference to a job does not depend on the thread it is on. `JobRef::new` demands that
// the job itself may be run by another thread.
unsafe impl Send for JobRef {}
// SAFETY: as above; it is only ever copied.
unsafe impl Sync for JobRef {}

impl JobRef {
    /// Added to the address of a job that begins with an [`AwaitableHeader`] whose note is the
    /// job's position in its owner's deque. The lowest bit, which is zero in the address of any
    /// header.
    const HAS_POSITION: usize = 1;

    /// Creates a reference to a job.
    ///
    /// # Safety
    /// 1. The job is valid, and remains valid until it has been run.
    /// 2. It may be run by another thread.
    #[inline]
    pub unsafe fn new<J: Job>(job: *const J) -> Self {
        Self {
            // SAFETY: by obligation 1 it leads to a job.
            job: unsafe { NonNull::new_unchecked(job.cast_mut().cast()) },
        }
    }

    /// Creates a reference to a job whose owner takes it back by its position.
    ///
    /// # Safety
    /// As for [`new`](Self::new), and
    /// 3. The job's header is an [`AwaitableHeader`] whose note is its position.
    #[inline(always)]
    pub(crate) unsafe fn with_position<J: Job>(job: *const J) -> Self {
        const { assert!(align_of::<JobHeader>() > Self::HAS_POSITION) };
        let tagged = job.cast_mut().wrapping_byte_add(Self::HAS_POSITION).cast();
        Self {
            // SAFETY: the address of a job is not zero and has a zero for its lowest bit.
            job: unsafe { NonNull::new_unchecked(tagged) },
        }
    }

    /// Whether the job with these words may be moved to another worker's deque. Not one that its
    /// owner takes back by its position.
    #[inline]
    pub(crate) fn may_be_moved([job]: &<Self as Element>::Words) -> bool {
        job.addr() & Self::HAS_POSITION == 0
    }

    #[inline]
    fn header(self) -> *const JobHeader {
        let header = self.job.as_ptr().cast_const();
        header.map_addr(|address| address & !Self::HAS_POSITION)
    }

    /// Clears the job's position if it has one. Its owner has popped it and runs it now, so another
    /// job at that position must not be mistaken for this one.
    ///
    /// # Safety
    /// 1. The caller is the worker that made the reference and has just popped it from its deque.
    #[inline]
    pub(crate) unsafe fn popped_by_owner(self) {
        if self.job.addr().get() & Self::HAS_POSITION != 0 {
            // SAFETY: 1. and 2. by obligation 1 here and obligation 3 of `with_position`: the job
            // is ours alone, and has not been run.
            unsafe { AwaitableHeader::renote(self.header().cast(), Position::NOWHERE.into_word()) };
        }
    }

    /// Runs the job.
    ///
    /// # Safety
    /// 1. This reference, of which there may be copies, is used once.
    #[inline]
    pub unsafe fn execute(self) {
        let job = self.header();
        // SAFETY: the job is valid by the obligations of `new`, begins with its header, and is run
        // once by obligation 1.
        unsafe { JobHeader::runner(job).execute()(job.cast()) }
    }

    /// Returns the name of the job's type.
    ///
    /// # Safety
    /// 1. The job has not been run, and this reference is the caller's to run.
    #[inline]
    pub(crate) unsafe fn name(self) -> JobName {
        #[cfg(not(feature = "trace"))]
        {
            JobName::UNKNOWN
        }
        #[cfg(feature = "trace")]
        {
            // SAFETY: 1. by obligation 1.
            JobName::of(unsafe { JobHeader::runner(self.header()) })
        }
    }

    /// Whether this is a reference to the job at this address.
    #[inline]
    pub(crate) fn refers_to(self, job: *const ()) -> bool {
        Self::do_refer_to(&self.into_words(), job)
    }

    /// Whether these are the words of a reference to the job at this address.
    #[inline]
    pub(crate) fn do_refer_to([word]: &<Self as Element>::Words, job: *const ()) -> bool {
        word.addr() & !Self::HAS_POSITION == job.addr()
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobRef").field(&self.header()).finish()
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

/// The context in which a closure of a job runs: on which worker, and whether it has migrated.
///
/// # Examples
/// See [`Platform`].
#[doc(alias = "FnContext")]
#[doc(alias = "RunBy")]
pub struct JobContext<'w, P: Platform> {
    /// None if the worker has not been looked up.
    worker: Option<&'w WorkerThread<P>>,
    migrated: bool,
}

impl<P: Platform> fmt::Debug for JobContext<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobContext")
            .field("migrated", &self.migrated)
            .finish_non_exhaustive()
    }
}

impl<'w, P: Platform> JobContext<'w, P> {
    /// For a job that was taken from a queue.
    const STOLEN: Self = Self {
        worker: None,
        migrated: true,
    };

    /// Creates the context of a closure that this worker runs.
    #[inline]
    pub(crate) fn on_worker(worker: &'w WorkerThread<P>, migrated: bool) -> Self {
        Self {
            worker: Some(worker),
            migrated,
        }
    }

    /// Whether the closure came through a queue: usually, from another thread.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }

    /// Returns the worker that runs the closure.
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

/// The closure of a job on the stack. Implemented for every closure that another worker may run.
pub(crate) trait JobFn<P: Platform>:
    FnOnce(JobContext<'_, P>) -> <Self as JobFn<P>>::Returned + Send
{
    /// What the closure returns.
    type Returned: Send;
}

impl<P: Platform, F, R: Send> JobFn<P> for F
where
    F: FnOnce(JobContext<'_, P>) -> R + Send,
{
    type Returned = R;
}

/// A closure, and in its place its result once another worker has run it.
pub(crate) struct Body<P: Platform, F: JobFn<P>> {
    content: UnsafeCell<Content<P, F>>,
}

union Content<P: Platform, F: JobFn<P>> {
    /// Taken by the worker that runs it.
    closure: ManuallyDrop<F>,
    /// Written by the worker that ran it, unless it ran inline.
    result: ManuallyDrop<Result<F::Returned, P::Panic>>,
}

impl<P: Platform, F: JobFn<P>> Body<P, F> {
    /// Creates a body with this closure, which is not dropped if it is never run.
    #[inline(always)]
    pub(crate) fn new(closure: F) -> Self {
        Self {
            content: UnsafeCell::new(Content {
                closure: ManuallyDrop::new(closure),
            }),
        }
    }

    /// Runs the closure and keeps what it returns, or its panic.
    ///
    /// # Safety
    /// 1. Closure and result are the caller's, and the closure has not been run.
    pub(crate) unsafe fn run_as_thief(&self) {
        // SAFETY: 1. by our obligation 1.
        let closure = unsafe { self.take_closure() };
        let result = P::catch_unwind(|| closure(JobContext::STOLEN));
        let content = Content {
            result: ManuallyDrop::new(result),
        };
        // SAFETY: by obligation 1 the content is the caller's, and the closure was taken out.
        self.content
            .with_mut(|place| unsafe { place.write(content) });
    }

    /// Runs the closure here. A panic passes through.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has not been run.
    #[inline(always)]
    pub(crate) unsafe fn run_inline(&self, context: JobContext<'_, P>) -> F::Returned {
        // SAFETY: 1. by our obligation 1.
        let closure = unsafe { self.take_closure() };
        closure(context)
    }

    /// Takes the closure out.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has neither been run nor dropped.
    #[inline(always)]
    unsafe fn take_closure(&self) -> F {
        // SAFETY: by obligation 1 the content is the closure, and it is taken once.
        self.content
            .with_mut(|content| unsafe { ManuallyDrop::take(&mut (*content).closure) })
    }

    /// Drops the closure, which will not be run.
    ///
    /// # Safety
    /// 1. The closure is the caller's, and has not been run.
    /// 2. It is not used afterwards.
    pub(crate) unsafe fn drop_closure(&self) {
        // SAFETY: 1. is forwarded to our caller.
        drop(unsafe { self.take_closure() });
    }

    /// Returns what the closure returned. Continues its panic if it panicked.
    ///
    /// # Safety
    /// 1. The closure was run by [`run_as_thief`](Self::run_as_thief), and what that wrote is
    ///    visible.
    /// 2. This is called once.
    pub(crate) unsafe fn take_result(&self) -> F::Returned {
        // SAFETY: by obligation 1 the result was written; by 2. it is taken once.
        let take =
            |content: *mut Content<P, F>| unsafe { ManuallyDrop::take(&mut (*content).result) };
        match self.content.with_mut(take) {
            Ok(result) => result,
            Err(panic) => P::resume_unwind(panic),
        }
    }
}

/// Drops a panic that no caller will see. Its payload may panic when it is dropped, which must end
/// neither a worker nor the panic that is under way.
pub(crate) fn discard_panic<P: Platform>(panic: P::Panic) {
    if let Err(another) = P::catch_unwind(|| drop(panic)) {
        core::mem::forget(another);
    }
}
