//! Where one worker is on its way to sleep.

use crate::{index::WorkerIndex, policy::IdlePolicy, protocol::hint::Hint};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    rounds: u32,
    /// The worker may be registered as a sleeper since an earlier attempt.
    pub(super) may_be_registered: bool,
    pub(super) hint: Option<Hint>,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex) -> Self {
        Self {
            worker,
            rounds: 0,
            may_be_registered: false,
            hint: None,
        }
    }

    /// Counts a fruitless search. Returns whether the worker sleeps now.
    pub(super) fn sleeps_now(&mut self, policy: IdlePolicy) -> bool {
        let rounds = self.rounds;
        self.rounds = rounds.saturating_add(1);
        rounds >= policy.rounds_until_sleepy() && rounds >= policy.rounds_until_sleeping()
    }

    /// Goes back to where the worker gets sleepy: there may be work, so one search will do.
    pub(super) fn wake_partly(&mut self, policy: IdlePolicy) {
        self.rounds = policy.rounds_until_sleepy();
    }

    /// Goes back to the start: this worker was woken for a reason.
    pub(super) fn wake_fully(&mut self) {
        self.rounds = 0;
    }
}
