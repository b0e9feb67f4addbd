//! How a worker takes jobs from its own queues, and how it runs a job.

use deque_core::Position;

use crate::{
    isolation::Isolation,
    job::{JobName, JobRef},
    metrics::{Event, Observer as _},
    platform::Platform,
    queue::JobQueue,
    retries::Retries,
    worker::{
        WorkerThread,
        deque_use::DequeUse,
        lineage::{Found, Theft},
    },
};

impl<P: Platform> WorkerThread<P> {
    /// Runs a job that a queue gave to this worker.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[inline]
    pub(crate) unsafe fn run(&self, job: JobRef) {
        // SAFETY: 1. it is ours to run.
        let name = unsafe { job.name() };
        // SAFETY: obligation 1 is forwarded to our caller.
        self.run_as_job(name, || unsafe { job.execute() });
    }

    /// Calls a closure that does the work of a job with this name, and counts it as that job. The
    /// closure must not unwind.
    #[inline]
    pub(crate) fn run_as_job(&self, name: JobName, run: impl FnOnce()) {
        self.observer().observe(Event::Job(name), P::now);
        self.depth.set(self.depth.get() + 1);
        let outer = self.begin.replace(self.own().next_position());
        run();
        self.begin.set(outer);
        self.depth.set(self.depth.get() - 1);
        self.observer().observe(Event::JobEnd, P::now);
    }

    /// Runs a job that this worker has found. A stolen job that inherits the isolation of its
    /// victim runs with a lineage.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    #[inline]
    pub(crate) unsafe fn run_found(&self, found: Found) {
        match found.isolated {
            // SAFETY: obligation 1 is forwarded to our caller.
            None => unsafe { self.run(found.job) },
            // SAFETY: obligation 1 is forwarded to our caller.
            Some((theft, isolation)) => unsafe { self.run_stolen(found.job, theft, isolation) },
        }
    }

    /// Runs a stolen job with its lineage, and then what the job has left on the deque.
    ///
    /// # Safety
    /// 1. As for [`JobRef::execute`].
    pub(super) unsafe fn run_stolen(&self, job: JobRef, theft: Theft, isolation: Isolation) {
        self.with_lineage(Some(theft), isolation, || {
            let begin = self.own().next_position();
            // SAFETY: obligation 1 is forwarded to our caller.
            unsafe { self.run(job) };
            if self.can_isolate() {
                self.run_rest_from(begin);
            }
        });
    }

    /// Returns how many jobs from queues are nested on this worker's stack.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth.get()
    }

    /// Whether this worker is in the middle of a job that a queue gave to it.
    pub fn is_running_job(&self) -> bool {
        self.depth() > 0
    }

    /// Whether this worker's own deque holds jobs.
    pub fn has_pending_jobs(&self) -> bool {
        !self.own.is_empty()
    }

    /// Takes the newest job of this worker's deque, or else a job for this worker alone; from time
    /// to time [another one](Self::take_own_in_turn). The job must be run before control returns to
    /// an outer join on this stack.
    #[inline]
    pub(crate) fn take_local_job(&self) -> Option<JobRef> {
        let in_turn = self.take_own_in_turn();
        in_turn
            .or_else(|| self.take_deque_job())
            .or_else(|| self.take_inbox_job())
    }

    /// Takes the newest job of this worker's deque.
    #[inline]
    pub(crate) fn take_deque_job(&self) -> Option<JobRef> {
        if let DequeUse::Borrowed(floor) = self.deque_use.get() {
            return self.take_borrowed_job(floor);
        }
        // Looks first: a pop writes to a cache line that all searching workers read.
        let popped = if self.own.is_empty() {
            None
        } else {
            self.own.pop()
        };
        if let Some(job) = popped {
            // SAFETY: 1. only we put jobs into this deque, and this job was popped just now.
            unsafe { job.popped_by_owner() };
        }
        popped
    }

    /// Takes the oldest job of this worker's deque. In a wait within a job, takes it only if it was
    /// pushed since that job began. As with [`take_local_job`](Self::take_local_job), it must be
    /// run before control returns to an outer join.
    pub(crate) fn take_oldest_job(&self) -> Option<JobRef> {
        let is_in_wait = self.is_running_job() && !self.is_at_top_level();
        let from = is_in_wait.then(|| self.begin.get());
        from.map_or_else(|| self.pop_oldest(), |from| self.take_oldest_from(from))
    }

    /// Takes the oldest job of this worker's deque if it was pushed from a position on. As with
    /// [`take_local_job`](Self::take_local_job), it must be run before control returns to an outer
    /// join.
    pub(crate) fn take_oldest_from(&self, from: Position) -> Option<JobRef> {
        // Thieves may take that job meanwhile. Then this pops the next one, which is newer.
        let oldest = self.own.deque().oldest()?;
        oldest.is_at_or_after(from).then(|| self.pop_oldest())?
    }

    /// Takes the oldest job of this worker's deque. As with
    /// [`take_local_job`](Self::take_local_job), it must be run before control returns to an outer
    /// join.
    pub(super) fn pop_oldest(&self) -> Option<JobRef> {
        let popped = self.own.pop_oldest()?;
        // SAFETY: 1. as in `take_deque_job`.
        unsafe { popped.popped_by_owner() };
        Some(popped)
    }

    /// Takes the newest job of this worker's deque if it was pushed from a position on. It may be
    /// older than a scope that is open.
    pub(crate) fn take_job_from(&self, from: Position) -> Option<JobRef> {
        if !self.has_pending_jobs() || from.is_at_or_after(self.own().next_position()) {
            return None;
        }
        let job = self.own().pop()?;
        // SAFETY: 1. only we put jobs into this deque, and this job was popped just now.
        unsafe { job.popped_by_owner() };
        // Before the job runs, because it may push jobs.
        self.open_scopes.lower_begins(self.own().next_position());
        Some(job)
    }

    #[cold]
    pub(crate) fn take_inbox_job(&self) -> Option<JobRef> {
        let mut retries = Retries::new();
        loop {
            // Only this worker takes from its inbox; `Retry` means that a push has not ended.
            match self.shared().inbox.steal() {
                deque_core::Steal::Success(job) => {
                    P::begin_search(self.registry());
                    return Some(job);
                }
                deque_core::Steal::Empty => return None,
                deque_core::Steal::Retry => retries.wait(self),
            }
        }
    }

    /// Whether jobs are queued that only this worker may run.
    pub fn has_inbox_jobs(&self) -> bool {
        !self.shared().inbox.is_empty()
    }

    /// Runs the jobs that only this worker may run. In an isolated job, it does so as an isolated
    /// wait does.
    pub fn run_inbox_jobs(&self) {
        while self.run_inbox_job() {}
    }

    /// Runs one job as [`run_inbox_jobs`](Self::run_inbox_jobs) does. Returns whether there was
    /// one.
    pub(crate) fn run_inbox_job(&self) -> bool {
        let Some(job) = self.take_inbox_job() else {
            return false;
        };
        match self.isolation() {
            // SAFETY: 1. the queue gave it to us alone.
            Isolation::Anything => unsafe { self.run(job) },
            // SAFETY: 1. as above.
            isolation => unsafe { self.run_lone_job(job, isolation) },
        }
        true
    }

    /// Runs a job, if there is one. Returns whether there was one.
    pub(crate) fn run_one(&self, found: Option<Found>) -> bool {
        match found {
            Some(found) => {
                // SAFETY: 1. the queue gave it to us alone.
                unsafe { self.run_found(found) };
                self.lower_begin();
                true
            }
            None => false,
        }
    }

    /// Lowers the start of the innermost job to the end of the deque, if the end is before it,
    /// because a wait or a yield has run jobs that were there before this job. Otherwise, jobs that
    /// this job pushes at positions before its start would seem to belong to other jobs.
    pub(super) fn lower_begin(&self) {
        let end = self.own().next_position();
        if !end.is_at_or_after(self.begin.get()) {
            self.begin.set(end);
        }
    }
}
