//! Where one worker is on its way to sleep.

use super::{Jec, Slots, counters::JobsEventCounter};
use crate::{
    index::WorkerIndex,
    policy::{IdlePolicy, Purpose, Search},
    protocol::SleepProtocol as _,
};

/// One worker's way from finding no work to being asleep.
///
/// Created by [`start_looking`](crate::SleepProtocol::start_looking), kept by the worker's search
/// loop, and advanced by [`no_work_found`](crate::SleepProtocol::no_work_found).
#[must_use = "the worker counts as idle until this is given to `work_found`"]
#[derive(Debug)]
pub struct IdleState {
    pub(super) worker: WorkerIndex,
    /// A worker gets sleepy with the value of the JEC at that moment.
    pub(super) search: Search<JobsEventCounter>,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex, search: Search<JobsEventCounter>) -> Self {
        Self { worker, search }
    }
}

impl<S: Slots, I: AsRef<IdlePolicy>> Jec<S, I> {
    /// Counts the worker as idle. Beyond the limit on searchers it does no rounds, unless it waits
    /// for a job or has credit from a short sleep.
    #[inline]
    pub(super) fn begin_search(&self, worker: WorkerIndex, purpose: Purpose) -> IdleState {
        // First, so that a policy that panics leaves no count of a worker that does not search.
        let policy = self.policy.as_ref();
        self.slots()[worker.get()].state().search().begin(worker);
        let counters = self.shared.counters.add_inactive_thread();
        // Of the workers that are awake, so that a large pool with little to do has few searchers.
        // For a moment the count of sleepers may be too high.
        let awake = self.num_workers().saturating_sub(counters.sleeping());
        let limit = policy.searchers_among(awake);
        self.note_awake(worker, counters);
        let is_admitted = purpose == Purpose::Wait
            || counters.awake_but_idle() <= limit
            || policy.gives_credit() && self.slots()[worker.get()].history().spend_credit();
        IdleState::new(worker, Search::new(purpose, is_admitted).among(awake))
    }
}
