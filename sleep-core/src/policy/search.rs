//! The rounds of one search.

use super::{History, IdlePolicy};
use crate::parker::Parker;

/// One worker's rounds, from the moment when it has no work until it has some again.
#[derive(Debug)]
pub(crate) struct Search {
    /// How many rounds there are before the worker gets sleepy. Chosen in the first one: a search that finds work
    /// at once costs nothing here.
    limit: Option<u32>,
    /// How many of them are over.
    rounds: u32,
    /// How many rounds are left to the sleepy worker.
    sleepy_rounds_left: u32,
    /// Whether the limit on searchers leaves room for this worker.
    is_admitted: bool,
    /// When the worker had no work, or was woken, by the clock of its parker.
    began: Option<u64>,
}

impl Search {
    pub(crate) const fn new(is_admitted: bool) -> Self {
        Self {
            limit: None,
            rounds: 0,
            sleepy_rounds_left: 0,
            is_admitted,
            began: None,
        }
    }

    /// Counts a fruitless search of a worker that is not sleepy. Returns whether the worker relaxes and searches
    /// on; if not, it gets sleepy.
    pub(crate) fn goes_on(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) -> bool {
        let Some(limit) = self.limit else {
            return self.begin(policy, history, parker);
        };
        if self.rounds >= limit || self.is_late(policy, parker) {
            self.end_rounds();
            return false;
        }
        self.rounds += 1;
        true
    }

    /// Chooses the number of rounds, and begins with the first one.
    fn begin(&mut self, policy: &IdlePolicy, history: &History, parker: &impl Parker) -> bool {
        if policy.is_adaptive || policy.time_limit.is_some() {
            self.began = parker.now();
        }
        let limit = match (self.is_admitted, policy.is_adaptive) {
            (false, _) => 0,
            (true, false) => policy.rounds_until_sleepy,
            (true, true) => {
                let without_clock = u32::from(self.began.is_none());
                let least = policy.rounds_until_sleepy.min(without_clock);
                history.rounds(policy).max(least)
            }
        };
        self.limit = Some(limit);
        self.rounds = limit.min(1);
        limit > 0
    }

    fn is_late(&self, policy: &IdlePolicy, parker: &impl Parker) -> bool {
        // Of the adaptive ones, all of whose sleeps are compared with the limit too, and of the others.
        let (Some(began), Some(_)) = (self.began, policy.time_limit) else {
            return false;
        };
        self.is_long(began, policy, parker)
    }

    fn is_long(&self, began: u64, policy: &IdlePolicy, parker: &impl Parker) -> bool {
        let limit = policy.time_limit.map_or(u64::MAX, u64::from);
        // Without a clock, every wait is long. A clock does not go backwards; if it does, the wait was short.
        parker
            .now()
            .is_none_or(|now| now.saturating_sub(began) > limit)
    }

    /// Notes that the worker has got sleepy.
    pub(crate) fn got_sleepy(&mut self, policy: &IdlePolicy) {
        self.sleepy_rounds_left = match self.is_admitted {
            true => policy
                .rounds_until_sleeping
                .saturating_sub(policy.rounds_until_sleepy),
            false => 0,
        };
    }

    /// Counts a fruitless search of a sleepy worker. Returns whether the worker relaxes and searches on; if not,
    /// it sleeps.
    pub(crate) fn stays_sleepy(&mut self) -> bool {
        let stays = self.sleepy_rounds_left > 0;
        self.sleepy_rounds_left = self.sleepy_rounds_left.saturating_sub(1);
        stays
    }

    /// Ends the rounds before the worker gets sleepy: there may be work, so one search will do.
    pub(crate) fn end_rounds(&mut self) {
        self.rounds = self.limit.unwrap_or(0);
        self.limit.get_or_insert(0);
    }

    /// Notes that the worker has slept. If it has been woken for nothing, it does half as many rounds.
    #[cold]
    pub(crate) fn has_slept(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) {
        if policy.is_adaptive {
            match self.began {
                Some(began) if !self.is_long(began, policy, parker) => history.record_success(),
                _ => history.record_failure(),
            }
        }
        self.began = self.began.and_then(|_| parker.now());
        self.limit = self.limit.map(|limit| limit / 2);
        self.rounds = 0;
    }

    /// Notes that the search is over, because there is work or because the worker's latch is set.
    #[inline]
    pub(crate) fn end(&self, policy: &IdlePolicy, history: &History) {
        // Otherwise the first search has found it, with no need for rounds.
        if self.rounds > 0 && policy.is_adaptive {
            history.record_success();
        }
    }
}
