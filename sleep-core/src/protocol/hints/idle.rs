//! Where one worker is on its way to sleep.

use crate::{
    index::WorkerIndex,
    parker::Parker,
    policy::{History, IdlePolicy, Search},
    protocol::hint::Hint,
};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    search: Search,
    /// The rounds until the worker gets sleepy are over; it has those left that a sleepy worker does.
    is_sleepy: bool,
    /// The worker may be registered as a sleeper since an earlier attempt.
    pub(super) may_be_registered: bool,
    pub(super) hint: Option<Hint>,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex) -> Self {
        Self {
            worker,
            search: Search::new(true),
            is_sleepy: false,
            may_be_registered: false,
            hint: None,
        }
    }

    /// Counts a fruitless search. Returns whether the worker sleeps now.
    pub(super) fn sleeps_now(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) -> bool {
        if self.is_sleepy {
            return !self.search.stays_sleepy();
        }
        if self.search.goes_on(policy, history, parker) {
            return false;
        }
        self.is_sleepy = true;
        self.search.got_sleepy(policy);
        !self.search.stays_sleepy()
    }

    /// Goes back to where the worker gets sleepy: there may be work, so one search will do.
    pub(super) fn wake_partly(&mut self) {
        self.search.end_rounds();
        self.is_sleepy = false;
    }

    /// Goes back to half of the rounds: this worker has slept, and was woken for a reason.
    pub(super) fn wake_fully(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) {
        self.search.has_slept(policy, history, parker);
        self.is_sleepy = false;
    }

    /// Ends the search.
    #[inline]
    pub(super) fn end(&self, policy: &IdlePolicy, history: &History) {
        self.search.end(policy, history);
    }
}
