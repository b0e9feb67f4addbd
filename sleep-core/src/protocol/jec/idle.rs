//! Where one worker is on its way to sleep.

use super::counters::JobsEventCounter;
use crate::{index::WorkerIndex, policy::IdlePolicy};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    rounds: u32,
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
    pub(super) fn new(worker: WorkerIndex) -> Self {
        Self {
            worker,
            rounds: 0,
            sleepy: None,
        }
    }

    pub(super) fn next_step(&mut self, policy: IdlePolicy) -> Step {
        let rounds = self.rounds;
        self.rounds = rounds.saturating_add(1);
        match self.sleepy {
            None if rounds < policy.rounds_until_sleepy() => Step::Relax,
            None => Step::GetSleepy,
            Some(_) if rounds < policy.rounds_until_sleeping() => Step::Relax,
            Some(jec) => Step::Sleep(jec),
        }
    }

    pub(super) fn got_sleepy(&mut self, jec: JobsEventCounter) {
        self.sleepy = Some(jec);
    }

    /// Goes back to just before getting sleepy: there may be work, so one search will do.
    pub(super) fn wake_partly(&mut self, policy: IdlePolicy) {
        self.rounds = policy.rounds_until_sleepy();
        self.sleepy = None;
    }

    /// Goes back to the start: this worker was woken for a reason.
    pub(super) fn wake_fully(&mut self) {
        self.rounds = 0;
        self.sleepy = None;
    }
}
