//! Which workers search, and how many are awake, for those that look at the others' queues.

use super::{Counters, Jec, JobsEventCounter, Slots};
use crate::{
    index::{WorkerIndex, circle},
    policy::{IdlePolicy, Purpose, Search},
    protocol::{AwakeSet, SleepProtocol as _},
};

#[cfg(all(test, not(loom)))]
mod tests;

/// At most one worker in this many counts as few, so none in a pool of fewer. In models, both
/// workers count as few.
///
/// While more are awake, workers fall asleep and wake up so often that their bits, and the
/// counters, are written all the time. Each search that read them would have to fetch those lines,
/// which the writers need too. The ends of deques that do not change are in the caches of all
/// workers.
const ONE_IN: usize = if cfg!(loom) { 1 } else { 16 };

/// One worker's way from finding no work to being asleep.
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
    /// A worker gets sleepy with the value of the JEC at that moment.
    pub(super) search: Search<JobsEventCounter>,
}

impl IdleState {
    pub(super) fn new(worker: WorkerIndex, search: Search<JobsEventCounter>) -> Self {
        Self { worker, search }
    }
}

/// Which workers other than the caller may be awake.
pub(super) enum Awake {
    /// None.
    NoOther,
    /// Few, so that it pays to look which.
    Few,
    /// Perhaps all.
    Many,
}

impl<S: Slots, I: AsRef<IdlePolicy>> AwakeSet for Jec<S, I> {
    /// Leaves out the workers whose bit is set, if few are awake, and looks at no bit if all others
    /// sleep.
    #[inline]
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let workers = self.num_workers();
        let holds = |worker| {
            WorkerIndex::new(worker, workers)
                .is_ok_and(|worker| Some(worker) != caller && holds(worker))
        };
        match self.awake(caller) {
            Awake::NoOther => false,
            Awake::Few => self.shared.sleepers.any_awake(self.slots(), first, holds),
            Awake::Many => circle(first, workers).any(holds),
        }
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

    /// Notes whether few workers were awake when this one changed or read the counters.
    #[inline]
    pub(super) fn note_awake(&self, worker: WorkerIndex, counters: Counters) {
        if !self.shared.sleepers.are_few() {
            let few = self.few_are_awake(counters.sleeping());
            self.slots()[worker.get()].set_few_are_awake(few);
        }
    }

    /// Notes whether few workers are awake, after this one has slept. Does nothing if few were when
    /// it last noted that: its next search reads the counters anyway.
    pub(super) fn note_awake_after_sleep(&self, worker: WorkerIndex) {
        if !self.shared.sleepers.are_few() && !self.slots()[worker.get()].few_are_awake() {
            self.note_awake(worker, self.shared.counters.load());
        }
    }

    /// Returns which workers may be awake beside the caller, which is a worker that is not
    /// registered as a sleeper, or `None`. Such a worker asks the counters only if few workers
    /// were awake when it last did.
    #[inline]
    pub(super) fn awake(&self, caller: Option<WorkerIndex>) -> Awake {
        let expects_many = caller.is_some_and(|worker| !self.slots()[worker.get()].few_are_awake());
        if self.shared.sleepers.are_few() || expects_many {
            return Awake::Many;
        }
        let counters = self.shared.counters.load();
        if let Some(caller) = caller {
            self.note_awake(caller, counters);
        }
        if counters.sleeping() + usize::from(caller.is_some()) >= self.num_workers() {
            Awake::NoOther
        } else if self.few_are_awake(counters.sleeping()) {
            Awake::Few
        } else {
            Awake::Many
        }
    }

    /// Whether few workers are awake while `sleeping` workers sleep.
    fn few_are_awake(&self, sleeping: usize) -> bool {
        let workers = self.num_workers();
        workers.saturating_sub(sleeping) <= workers / ONE_IN
    }
}
