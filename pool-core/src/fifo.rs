//! Jobs that are run in the order in which they were spawned, on a deque that is last-in,
//! first-out.

use core::{fmt, ptr::NonNull};

use deque_core::Steal;

use crate::{
    job::{Job, JobHeader, JobRef},
    platform::Platform,
    primitive::spin_loop,
    queue::JobQueue,
    retries::Retries,
    worker::WorkerThread,
};

/// A queue behind a deque: each push returns a job for the deque which, whenever it is run, runs
/// the oldest job of the queue.
///
/// Source: rayon's `JobFifo`.
///
/// # Examples
/// ```
/// use std::ptr::NonNull;
///
/// use pool_core::{JobFifo, JobQueue, JobRef, Platform, WorkerThread};
///
/// /// Spawns a job which begins after those that were spawned on this queue before.
/// ///
/// /// # Safety
/// /// 1. The job, the node and the queue stay in place until the job has been run.
/// unsafe fn spawn_in_order<P: Platform>(
///     worker: &WorkerThread<P>,
///     fifo: &JobFifo<P>,
///     node: NonNull<<P::Queue as JobQueue>::Node>,
///     job: JobRef,
/// ) {
///     // SAFETY: `push`: 1. and 2. by our obligation 1. `post`: 1. it is posted once.
///     unsafe { worker.post(fifo.push(node, job)) };
/// }
/// ```
#[repr(C)]
pub struct JobFifo<P: Platform> {
    header: JobHeader,
    queue: P::Queue,
}

impl<P: Platform> fmt::Debug for JobFifo<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobFifo")
            .field("is_empty", &self.queue.is_empty())
            .finish_non_exhaustive()
    }
}

impl<P: Platform> JobFifo<P> {
    const_unless_loom! {
        /// Creates a fifo on this queue, which must be empty.
        pub fn new(queue: P::Queue) -> Self {
            Self { header: JobHeader::new::<Self>(), queue }
        }
    }

    /// Queues a job, and returns the job to put on the deque instead.
    ///
    /// # Safety
    /// 1. As for [`JobQueue::push`].
    /// 2. `self` stays in place until the returned job has been run.
    pub unsafe fn push(&self, node: NonNull<<P::Queue as JobQueue>::Node>, job: JobRef) -> JobRef {
        // SAFETY: `push`: its obligations are forwarded to our caller by our obligation 1. Our
        // obligation 2 is `JobRef::new`'s first one, and its second holds since a queue may be used
        // from every thread.
        unsafe {
            self.queue.push(node, job);
            JobRef::new(self)
        }
    }
}

// SAFETY: 1. the header comes first, and is made for `Self`.
unsafe impl<P: Platform> Job for JobFifo<P> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligation 1 and that of `push`.
        let this = unsafe { &*this.cast::<Self>() };
        let mut retries = Retries::new();
        loop {
            match this.queue.steal() {
                // SAFETY: 1. the queue gave it to us alone.
                Steal::Success(job) => return unsafe { job.execute() },
                // Liveness: there are as many jobs in the queue as stand-ins on deques. So ours
                // is there, or will be as soon as another thread has ended its operation.
                // SAFETY: 1. it is used at once.
                Steal::Empty | Steal::Retry => match unsafe { WorkerThread::<P>::current() } {
                    Some(worker) => retries.wait(worker),
                    // Only workers run jobs of a deque, but nothing here depends on it.
                    None => spin_loop(),
                },
            }
        }
    }
}
