//! A pool as its workers and its users share it.

use core::{fmt, panic::RefUnwindSafe, ptr::NonNull};

use sleep_core::{Hint, UnknownWorker, WorkerIndex};

use crate::{
    deadlock::DeadlockDetection as _,
    injectors::{Injectors, Priority},
    job::JobRef,
    platform::{Platform, PoolProgress},
    primitive::AtomicUsize,
    queue::JobQueue,
    unwind::no_unwind,
    worker::WorkerShared,
};

mod calls;
mod references;
pub(crate) mod sleep;
mod waiting;

pub use calls::Call;
pub use waiting::WaitingJob;
#[cfg(test)]
mod tests;

/// The state that the workers of one pool share with each other and with the threads that give them
/// work.
///
/// It lives until the last worker has left and the last user has given up its reference. The
/// [`Platform`] decides how this is ensured.
///
/// # Examples
/// See [`Platform`].
pub struct Registry<P: Platform> {
    sleep: sleep::Seam<P::Sleep>,
    workers: P::Workers,
    progress: PoolProgress<P>,
    injectors: Injectors<P::Queue>,
    deadlock: P::Deadlock,
    /// The number of users of the pool and of spawned jobs. At zero the workers are requested to
    /// stop. The topmost bit says that the pool is [watched](Registry::watch).
    references: AtomicUsize,
    /// How many workers sleep in isolated waits.
    lone_sleepers: AtomicUsize,
    data: P::Data,
}

impl<P: Platform> Registry<P> {
    const_unless_loom! {
        /// Creates a pool from its parts, with one reference.
        ///
        /// `sleep`, `workers`, `progress` and `deadlock` must have the same number of workers;
        /// [`is_consistent`](Self::is_consistent) checks that. No other pool has these workers, see
        /// [`WorkerStorage`](crate::WorkerStorage).
        pub fn new(
            sleep: P::Sleep,
            workers: P::Workers,
            progress: PoolProgress<P>,
            injectors: Injectors<P::Queue>,
            deadlock: P::Deadlock,
            data: P::Data,
        ) -> Self {
            Self {
                sleep: sleep::Seam::new(sleep), workers, progress, injectors, deadlock,
                references: AtomicUsize::new(1), lone_sleepers: AtomicUsize::new(0), data,
            }
        }
    }

    /// Whether there is at least one worker, and each has all its parts.
    pub fn is_consistent(&self) -> bool {
        let workers = self.workers().len();
        workers > 0
            && self.sleep_is_consistent()
            && workers == self.progress.participants().len()
            && self.deadlock.is_for(workers)
    }

    /// Returns the workers' thread progress.
    pub fn progress(&self) -> &PoolProgress<P> {
        &self.progress
    }

    /// Returns the workers' shared halves.
    #[inline]
    pub fn workers(&self) -> &[WorkerShared<P>] {
        self.workers.as_ref()
    }

    /// Returns the number of workers.
    #[inline]
    pub fn num_workers(&self) -> usize {
        self.workers().len()
    }

    /// Returns the worker with this number.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are fewer workers.
    pub fn worker(&self, index: usize) -> Result<WorkerIndex, UnknownWorker> {
        WorkerIndex::new(index, self.num_workers())
    }

    /// Returns what the platform keeps with the pool.
    #[inline]
    pub fn data(&self) -> &P::Data {
        &self.data
    }

    /// Returns the detection of deadlocks.
    #[inline]
    pub fn deadlock(&self) -> &P::Deadlock {
        &self.deadlock
    }

    /// Returns the queues of jobs from outside.
    #[inline]
    pub fn injectors(&self) -> &Injectors<P::Queue> {
        &self.injectors
    }

    /// Queues a job from outside and wakes a worker for it if need be.
    ///
    /// # Safety
    /// 1. As for [`JobQueue::push`]: the node is valid until the job begins to run, and no copy of
    ///    the reference is used elsewhere.
    pub unsafe fn inject(&self, node: NonNull<<P::Queue as JobQueue>::Node>, job: JobRef) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.inject_with(Priority::Normal, node, job) };
    }

    /// Queues a job as [`inject`](Self::inject) does, to be run before or after other jobs.
    ///
    /// # Safety
    /// 1. As for [`inject`](Self::inject).
    #[inline]
    pub unsafe fn inject_with(
        &self,
        priority: Priority,
        node: NonNull<<P::Queue as JobQueue>::Node>,
        job: JobRef,
    ) {
        let queue = self.injectors.of(priority);
        let queue_was_empty = self.was_empty(queue);
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { queue.push(node, job) };
        let hint = match priority {
            Priority::Normal => Hint::Injector,
            // A woken worker looks at the urgent jobs anyway, and for background jobs it looks
            // everywhere else before.
            Priority::Urgent | Priority::Background => Hint::Unknown,
        };
        self.announce_jobs_at(hint, 1, queue_was_empty);
    }

    /// Queues jobs from outside, in their order, with one fence and one decision about which
    /// workers to wake for all of them: as many as there are jobs, less those that are already
    /// searching. The protocol may wake fewer, and leave the others to the workers that find a job.
    ///
    /// The jobs are announced when the iterator has ended, also by a panic. So it must not wait for
    /// a job that it has given.
    ///
    /// # Complexity
    /// Linear in the number of jobs, plus one wake-up for each sleeping worker that is woken.
    ///
    /// # Safety
    /// 1. As for [`JobQueue::push`], for each job.
    pub unsafe fn inject_many(
        &self,
        jobs: impl IntoIterator<Item = (NonNull<<P::Queue as JobQueue>::Node>, JobRef)>,
    ) {
        let mut queued = Queued {
            registry: self,
            queue_was_empty: self.was_empty(self.injectors.normal()),
            count: 0,
        };
        for (node, job) in jobs {
            // SAFETY: obligation 1 is forwarded to our caller.
            unsafe { self.injectors.normal().push(node, job) };
            queued.count += 1;
        }
    }

    /// Whether a queue is empty, for a poster that is going to ask how many workers to wake.
    /// While all are awake it wakes none, and does not look, because workers that take jobs
    /// write what it would read. If one falls asleep meanwhile, the poster wakes it although an
    /// idle worker would do.
    #[inline]
    fn was_empty(&self, queue: &P::Queue) -> bool {
        !no_unwind(|| self.all_are_awake()) && queue.is_empty()
    }
}

/// Jobs in the injector, which are announced when the value is dropped.
struct Queued<'r, P: Platform> {
    registry: &'r Registry<P>,
    queue_was_empty: bool,
    count: usize,
}

impl<P: Platform> Drop for Queued<'_, P> {
    fn drop(&mut self) {
        if self.count > 0 {
            let Self {
                registry,
                queue_was_empty,
                count,
            } = *self;
            registry.announce_jobs_at(Hint::Injector, count, queue_was_empty);
        }
    }
}

/// A panic of code of the user leaves no pool half-changed.
impl<P: Platform> RefUnwindSafe for Registry<P> {}

impl<P: Platform> fmt::Debug for Registry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("num_workers", &self.num_workers())
            .field("references", &self.num_references())
            .field("inactive", &self.num_inactive())
            .field("sleeping", &self.num_sleeping())
            .finish_non_exhaustive()
    }
}
