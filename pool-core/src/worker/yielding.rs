//! Runs one job in the middle of another one: in a yield, and in a wait that polls.
//!
//! The two differ in an isolated job. A thread that yields asks for any job. A thread that waits
//! gets only a job that it might run in any other wait.

use crate::{
    isolation::Isolation,
    platform::Platform,
    unwind::no_unwind,
    worker::{WorkerThread, lineage::Found},
};

impl<P: Platform> WorkerThread<P> {
    /// Runs one of this worker's own jobs, if there is one. Does so even in an isolated job,
    /// because a thread that yields asks for any job. Returns whether there was one.
    pub fn yield_local(&self) -> bool {
        match self.isolation() {
            Isolation::Anything => self.run_one(self.find_local()),
            _ => self.run_any(|| self.find_local()),
        }
    }

    /// Runs one job from anywhere in the pool, if there is one. Does so even in an isolated job,
    /// because a thread that yields asks for any job. Returns whether there was one.
    pub fn yield_now(&self) -> bool {
        match self.isolation() {
            Isolation::Anything => self.run_one(self.find_or_maintain()),
            _ => self.run_any(|| self.find_or_maintain()),
        }
    }

    /// Runs one of this worker's own jobs, for a thread that waits in its own way. In an isolated
    /// job, runs only a job that the isolated job has pushed, one that a thread outside the pool
    /// has spawned in one of its scopes, or one that only this worker may run. Returns whether
    /// there was one.
    ///
    /// If it is the job at `awaited`, this calls `run` instead of the job, which no other thread
    /// can reach any more: the owner of the job's handle can end both the job and the handle at
    /// less cost. A panic of `run` ends the process, like a panic that leaves a job.
    pub fn help_local(&self, awaited: *const (), run: impl FnOnce()) -> bool {
        let (isolation, begin) = (self.isolation(), self.begin.get());
        let newest = match isolation {
            Isolation::Anything => self.take_own_in_turn().or_else(|| self.take_deque_job()),
            _ if self.run_isolated_in_turn(begin) => return true,
            _ => self.take_job_from(begin),
        };
        match (newest, isolation) {
            (Some(job), _) if job.refers_to(awaited) => {
                // SAFETY: 1. it was popped just now, and is not executed.
                let name = unsafe { job.name() };
                self.run_as_job(name, || no_unwind(run));
                self.lower_begin();
                true
            }
            (Some(job), _) => self.run_one(Some(Found::own(job))),
            (None, Isolation::Anything) => self.run_one(self.take_inbox_job().map(Found::own)),
            (None, _) => self.run_outside_job() || self.run_inbox_job(),
        }
    }

    /// Runs one job from anywhere in the pool, for a thread that waits in its own way. In an
    /// isolated job, it is restricted like [`help_local`](Self::help_local). Returns whether there
    /// was one.
    pub fn help(&self) -> bool {
        match self.isolation() {
            Isolation::Anything => self.run_one(self.find_or_maintain()),
            _ => {
                let is_run = self.run_isolated_job(self.begin.get()) || self.run_outside_job();
                is_run || self.run_inbox_job()
            }
        }
    }

    fn find_local(&self) -> Option<Found> {
        self.take_local_job().map(Found::own)
    }

    fn find_or_maintain(&self) -> Option<Found> {
        let found = self.find_work();
        if found.is_none() {
            self.run_maintenance();
        }
        found
    }

    /// Runs the job that a search finds, even if this worker may not run that job in a wait.
    fn run_any(&self, find: impl Fn() -> Option<Found>) -> bool {
        // Its own jobs first, as in any other yield. Older jobs belong to outer waits.
        if self.run_isolated_job(self.begin.get()) {
            return true;
        }
        let mut is_run = false;
        self.borrow_isolated(|| is_run = self.run_one(find()));
        is_run
    }
}
