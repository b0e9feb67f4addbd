//! One worker's search: its rounds, and whether it is sleepy.

use super::{History, IdlePolicy, Purpose, WakeTime};
use crate::parker::Parker;

/// One worker's way from finding no work to being asleep, as its policy says.
///
/// `T` is what a protocol remembers when the worker gets sleepy.
#[derive(Debug)]
pub(crate) struct Search<T> {
    purpose: Purpose,
    /// The number of rounds before the worker gets sleepy. Chosen in the first one: a search that
    /// finds work at once costs nothing here.
    rounds: u32,
    /// How many of them are left: none when the worker gets sleepy.
    rounds_left: u32,
    /// What the worker got sleepy with, if it is sleepy.
    sleepy: Option<T>,
    /// How many rounds are left to the sleepy worker.
    sleepy_rounds_left: u32,
    /// Whether the worker does rounds.
    is_admitted: bool,
    /// How many workers were awake when it began, or 0 if the protocol does not count them.
    awake: usize,
    /// When the worker had no work, or found none after it was woken, by the clock of its parker.
    began: Option<u64>,
}

/// The value of `rounds_left` until the number of rounds is chosen.
const NOT_CHOSEN: u32 = u32::MAX;

/// What a worker does after one more fruitless search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step<T> {
    /// It relaxes and searches on.
    Relax,
    /// It gets sleepy, by [`Search::got_sleepy`], and searches once more at least.
    GetSleepy,
    /// It sleeps.
    Sleep(T),
}

impl<T: Copy> Search<T> {
    pub(crate) const fn new(purpose: Purpose, is_admitted: bool) -> Self {
        Self {
            purpose,
            rounds: 0,
            rounds_left: NOT_CHOSEN,
            sleepy: None,
            sleepy_rounds_left: 0,
            is_admitted,
            awake: 0,
            began: None,
        }
    }

    /// Says how many workers are awake, with which the worker may share its processor.
    pub(crate) const fn among(mut self, awake: usize) -> Self {
        self.awake = awake;
        self
    }

    /// Moves the beginning of the time without work to this moment, if that is later.
    #[inline]
    pub(crate) fn begins_after(&mut self, moment: &WakeTime, parker: &impl Parker) {
        if let Some(began) = &mut self.began {
            *began = moment.later(*began, parker);
        }
    }

    /// Counts a fruitless search.
    pub(crate) fn next_step(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) -> Step<T> {
        match self.sleepy {
            None => match self.count_round(policy, history, parker) {
                true => Step::Relax,
                false => Step::GetSleepy,
            },
            Some(sleepy) => match self.count_sleepy_round() {
                true => Step::Relax,
                false => Step::Sleep(sleepy),
            },
        }
    }

    /// Counts a fruitless search of a worker that is not sleepy. Returns whether it has a round for
    /// it.
    fn count_round(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        parker: &impl Parker,
    ) -> bool {
        match self.began {
            Some(began) => {
                if self.is_late(began, policy, parker) {
                    // For good: the time is over.
                    self.rounds_left = 0;
                }
            }
            None => self.begin(policy, history, parker),
        }
        let was_left = self.rounds_left > 0;
        self.rounds_left = self.rounds_left.saturating_sub(1);
        was_left
    }

    /// Reads the clock, if there is one and the time matters. Chooses the number of rounds if that
    /// has not been done.
    fn begin(&mut self, policy: &IdlePolicy, history: &History, parker: &impl Parker) {
        if policy.is_adaptive || policy.time_limit.is_some() {
            self.began = parker.now();
        }
        if self.rounds_left != NOT_CHOSEN {
            return;
        }
        if self.is_admitted {
            // Rounds that do not adapt are never fewer than this, so it changes nothing for them.
            // Nor does it with a clock.
            let without_clock = u32::from(self.began.is_none());
            let least = policy.rounds_until_sleepy.min(without_clock);
            self.rounds = history.rounds(self.purpose, policy).max(least);
        }
        self.rounds_left = self.rounds;
    }

    /// Notes that the worker has got sleepy.
    pub(crate) fn got_sleepy(&mut self, sleepy: T, policy: &IdlePolicy) {
        self.sleepy = Some(sleepy);
        self.sleepy_rounds_left = match self.is_admitted {
            true => policy
                .rounds_until_sleeping
                .saturating_sub(policy.rounds_until_sleepy),
            false => 0,
        };
    }

    /// Counts a round of a sleepy worker. Returns whether there was one left.
    pub(crate) fn count_sleepy_round(&mut self) -> bool {
        let was_left = self.sleepy_rounds_left > 0;
        self.sleepy_rounds_left = self.sleepy_rounds_left.saturating_sub(1);
        was_left
    }

    /// Notes that the worker turns back on its way to sleep: it goes back to just before getting
    /// sleepy. There may be work, so one search will do, and no rounds are left.
    pub(crate) fn turn_back(&mut self) {
        self.sleepy = None;
    }

    /// Notes that the worker has slept. If it was woken for nothing, it does half as many rounds.
    /// The clock is read only if its waker has not done so: the worker is on its way to a job.
    #[cold]
    pub(crate) fn note_slept(
        &mut self,
        policy: &IdlePolicy,
        history: &History,
        woken: &WakeTime,
        parker: &impl Parker,
    ) {
        let began = self.began.take();
        if policy.is_adaptive {
            let time = began.and_then(|began| woken.time_without_work(began, parker));
            // Longer times count as four seconds.
            let time = time.map(|time| u32::try_from(time).unwrap_or(u32::MAX));
            let limit = policy.time_limit_among(self.awake).unwrap_or(u32::MAX);
            history.record_sleep(self.purpose, time, limit);
        }
        self.rounds /= 2;
        self.rounds_left = self.rounds;
        self.sleepy = None;
    }

    /// Notes that the search is over, because there is work or because the worker's latch is set.
    #[inline]
    pub(crate) fn end(&self, policy: &IdlePolicy, history: &History) {
        // Otherwise the first search has found it, with no need for rounds.
        let has_relaxed = self.rounds_left < self.rounds;
        if has_relaxed && policy.is_adaptive {
            history.record_success(self.purpose);
        }
    }

    /// Whether the rounds that began then have lasted too long.
    fn is_late(&self, began: u64, policy: &IdlePolicy, parker: &impl Parker) -> bool {
        // The limit applies to adaptive rounds, whose sleeps are compared with it too, and to fixed
        // rounds.
        let Some(limit) = policy.time_limit_among(self.awake) else {
            return false;
        };
        // A clock does not go backwards; if it does, no time has passed.
        parker
            .now()
            .is_some_and(|now| now.saturating_sub(began) > limit.into())
    }
}
