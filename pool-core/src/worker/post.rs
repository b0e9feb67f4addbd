//! How a worker queues jobs on its own deque, and wakes thieves for them.

use crate::{
    job::JobRef,
    metrics::{Event, Observer as _},
    platform::Platform,
    primitive::{Ordering, fence},
    unwind::no_unwind,
    worker::{
        WorkerThread,
        cold::{ColdPath, Path},
    },
};

#[cfg(all(test, not(loom)))]
mod tests;

impl<P: Platform> WorkerThread<P> {
    /// Queues a job on this worker's deque, or runs it at once if that is full. No sleeping worker
    /// overlooks it, so this worker may go and do something else.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[inline]
    pub unsafe fn post(&self, job: JobRef) {
        // SAFETY: obligation 1 is forwarded to our caller.
        if let Err(job) = unsafe { self.try_post(job) } {
            // SAFETY: 1. the deque gave it back.
            unsafe { self.run_for_lack_of_room(job) };
        }
    }

    /// Queues a job as [`post`](Self::post) does, but gives it back if the deque is full. For a
    /// platform that has another queue for the job. If jobs that each spawn the next one were run
    /// at once instead, each would run inside the one before, until the stack overflows.
    ///
    /// # Errors
    /// The job, if a deque of fixed capacity is full.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[inline]
    pub unsafe fn try_post(&self, job: JobRef) -> Result<(), JobRef> {
        self.shared().note_posted();
        self.own().try_push(job).map_err(|full| full.0)?;
        self.observer().observe(Event::Post { count: 1 }, P::now);
        self.announce_posted(1);
        Ok(())
    }

    /// Queues a job as [`post`](Self::post) does, behind the others of this worker's deque: the
    /// next job that the worker takes from there is the oldest.
    ///
    /// For a job that [runs at top level](Self::is_in_job_at_top_level), and gives way to others.
    /// The worker comes to those of other sources at its fair looks.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    pub unsafe fn post_last(&self, job: JobRef) {
        self.let_oldest_come_next();
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.post(job) };
    }

    /// Queues jobs as [`post`](Self::post) does, in their order, with one fence and one decision
    /// about which workers to wake for all of them. Jobs that the deque has no room for are run at
    /// once.
    ///
    /// # Complexity
    /// Linear in the number of jobs, plus one wake-up for each sleeping worker that is woken.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`], for each job.
    pub unsafe fn post_many(&self, jobs: &[JobRef]) {
        self.shared().note_posted();
        let mut posted = 0;
        for &job in jobs {
            if self.own().try_push(job).is_err() {
                break;
            }
            posted += 1;
        }
        if posted > 0 {
            self.observer()
                .observe(Event::Post { count: posted }, P::now);
            self.announce_posted(posted);
        }
        // After the announcement, because the jobs run here may take long, and may wait for the
        // posted ones.
        for &job in &jobs[posted..] {
            // SAFETY: 1. the deque has not taken it; the others are not used again.
            unsafe { self.post(job) };
        }
    }

    /// Notes that a steal has put `count` jobs on this worker's deque, and wakes thieves for them
    /// if need be.
    ///
    /// A worker that fell asleep while they were on their way has seen them in neither deque.
    pub(crate) fn announce_moved(&self, count: usize) {
        if count > 0 {
            self.observer().observe(Event::Moved { count }, P::now);
            self.shared().note_posted();
            self.announce_posted(count);
        }
    }

    /// Wakes thieves, if need be, for `count` jobs that this worker has put on its deque and may
    /// leave.
    #[inline]
    fn announce_posted(&self, count: usize) {
        // Ordering: the poster's fence. Pairs with the fence of a worker that falls asleep, before
        // its last look: either the look sees the jobs, or we see the worker. Nothing
        // weaker orders the pushes before the read in `all_are_awake`.
        fence(Ordering::SeqCst);
        // The frame of a caller may hold the jobs, so that it must not be left.
        if !no_unwind(|| self.registry().all_are_awake()) || self.is_awaited_asleep() {
            self.announce_posted_to_sleepers(count);
        }
    }

    #[cold]
    #[inline(never)]
    fn announce_posted_to_sleepers(&self, count: usize) {
        P::run_cold(ColdPath(Path::AnnouncePosted(self, count)));
    }

    pub(super) fn announce_posted_cold(&self, count: usize) {
        let was_empty = || self.own().len() <= count;
        // A scope or a thread outside may wait for the jobs.
        no_unwind(|| {
            self.stop_being_left_out();
            self.registry()
                .announce_own_jobs(self.index(), count, was_empty);
            self.wake_awaiting();
        });
    }

    /// Wakes this worker, if it is registered as a sleeper: then this thread is in a function of
    /// the worker's own parker, which has queued a job. Other workers leave the deque of a
    /// sleeper out.
    ///
    /// If another thread is waking the worker, others may leave the deque out until that thread
    /// goes on. This worker then finds the job itself when it returns from its parker.
    pub(super) fn stop_being_left_out(&self) {
        if self.may_be_left_out.get() {
            self.registry().wake_worker(self.index());
            // Ordering: pairs with the fence of a worker that falls asleep, before it reads which
            // workers may be awake: either it sees that this one is awake, and so the job, or the
            // caller sees that worker and announces the job. The fence after the push came before
            // this worker was awake.
            fence(Ordering::SeqCst);
        }
    }

    /// Runs a job that the deque has no room for.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[cold]
    unsafe fn run_for_lack_of_room(&self, job: JobRef) {
        self.observer().observe(Event::DequeFull, P::now);
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe { self.run(job) }
    }
}
