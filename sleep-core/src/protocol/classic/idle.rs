//! Where one worker is on its way to sleep.

use crate::{index::WorkerIndex, policy::IdlePolicy};

/// One worker's way from finding no work to being asleep: the `yields` of rayon's first sleep
/// module.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
///
/// # Examples
/// See the crate's front page, which has a worker's whole loop.
#[must_use = "the worker counts as idle until this is given to `work_found`"]
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    rounds: u32,
    /// Whether this worker has got sleepy. A tickle may have ended that since.
    sleepy: bool,
}

/// What a worker does after one more fruitless search.
pub(super) enum Step {
    Relax,
    GetSleepy,
    StaySleepy,
    Sleep,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex) -> Self {
        Self {
            worker,
            rounds: 0,
            sleepy: false,
        }
    }

    pub(super) fn has_got_sleepy(&self) -> bool {
        self.sleepy
    }

    pub(super) fn next_step(&mut self, policy: IdlePolicy) -> Step {
        let rounds = self.rounds;
        let (until_sleepy, until_sleeping) = policy.rounds_without_history();
        match self.sleepy {
            // At the threshold the worker stays until it gets sleepy, however long that takes.
            false if rounds >= until_sleepy => Step::GetSleepy,
            true if rounds >= until_sleeping => Step::Sleep,
            sleepy => {
                self.rounds = rounds + 1;
                if sleepy {
                    Step::StaySleepy
                } else {
                    Step::Relax
                }
            }
        }
    }

    pub(super) fn got_sleepy(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
        self.sleepy = true;
    }

    /// Goes back to the start: the worker is awake.
    pub(super) fn wake(&mut self) {
        self.rounds = 0;
        self.sleepy = false;
    }
}
