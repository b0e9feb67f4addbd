//! Where one worker is on its way to sleep.

use super::counters::JobsEventCounter;
use crate::{
    index::WorkerIndex,
    parker::Parker,
    policy::{History, IdlePolicy, Search},
};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    search: Search,
    /// The final value of the JEC when this worker got sleepy, if it is sleepy.
    sleepy: Option<JobsEventCounter>,
}

/// What a worker does after one more fruitless search.
pub(super) enum Step {
    Relax,
    GetSleepy,
    Sleep(JobsEventCounter),
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex, is_admitted: bool) -> Self {
        Self {
            worker,
            search: Search::new(is_admitted),
            sleepy: None,
        }
    }

    pub(super) fn next_step(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) -> Step {
        match self.sleepy {
            None if self.search.goes_on(policy, history, parker) => Step::Relax,
            None => Step::GetSleepy,
            Some(_) if self.search.stays_sleepy() => Step::Relax,
            Some(jec) => Step::Sleep(jec),
        }
    }

    pub(super) fn got_sleepy(&mut self, jec: JobsEventCounter, policy: &IdlePolicy) {
        self.sleepy = Some(jec);
        self.search.got_sleepy(policy);
        // Getting sleepy was one of the sleepy worker's rounds.
        self.search.stays_sleepy();
    }

    /// Goes back to just before getting sleepy: there may be work, so one search will do.
    pub(super) fn wake_partly(&mut self) {
        self.search.end_rounds();
        self.sleepy = None;
    }

    /// Goes back to half of the rounds: this worker has slept, and was woken for a reason.
    pub(super) fn wake_fully(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) {
        self.search.has_slept(policy, history, parker);
        self.sleepy = None;
    }

    /// Ends the search.
    #[inline]
    pub(super) fn end(&self, policy: &IdlePolicy, history: &History) {
        self.search.end(policy, history);
    }
}
