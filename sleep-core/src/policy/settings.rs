//! What a policy says.

use core::time::Duration;

use super::{IdlePolicy, Relax, Searchers};

impl IdlePolicy {
    /// Returns the number of fruitless searches before a worker becomes sleepy; the greatest
    /// number, if it adapts.
    #[must_use]
    pub const fn rounds_until_sleepy(self) -> u32 {
        self.rounds_until_sleepy
    }

    /// Returns the number of fruitless searches before a worker sleeps.
    #[must_use]
    pub const fn rounds_until_sleeping(self) -> u32 {
        self.rounds_until_sleeping
    }

    /// Returns the two numbers of rounds for a protocol that does not adapt them. If they are to
    /// adapt, all of them in each search would be too many, and the least number too few.
    pub(crate) const fn rounds_without_history(self) -> (u32, u32) {
        let sleepy = self.rounds_until_sleepy;
        if !self.is_adaptive {
            return (sleepy, self.rounds_until_sleeping);
        }
        let more = self.rounds_until_sleeping.saturating_sub(sleepy);
        (sleepy / 4, (sleepy / 4).saturating_add(more))
    }

    /// Returns what a worker does between two searches.
    #[must_use]
    pub const fn relax(self) -> Relax {
        self.relax
    }

    /// Returns how many workers search at a time.
    #[must_use]
    pub const fn max_searchers(self) -> Searchers {
        self.max_searchers
    }

    /// Returns how many workers search at a time while `awake` workers are awake.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::IdlePolicy;
    ///
    /// assert_eq!(IdlePolicy::BALANCED.searchers_among(64), 32);
    /// assert_eq!(IdlePolicy::BALANCED.for_processors(64, 8).searchers_among(64), 4);
    /// ```
    #[must_use]
    pub const fn searchers_among(self, awake: usize) -> usize {
        match (self.max_searchers, self.processors) {
            (Searchers::Half, Some(processors)) if (processors.get() as usize) < awake => {
                Searchers::Half.among(processors.get() as usize)
            }
            (searchers, _) => searchers.among(awake),
        }
    }

    /// Returns for how many nanoseconds at most a worker does its rounds while `awake` workers are
    /// awake.
    pub(crate) const fn time_limit_among(self, awake: usize) -> Option<u32> {
        match (self.time_limit, self.processors) {
            (Some(limit), Some(processors)) if awake > processors.get() as usize => {
                // No more than there are workers, which fits.
                let share = awake.div_ceil(processors.get() as usize) as u32;
                Some(limit.saturating_mul(share))
            }
            (limit, _) => limit,
        }
    }

    /// Whether workers may search beyond the limit after a short sleep. Without adaptive rounds no
    /// sleep counts as short, and without a time limit each does.
    pub(crate) const fn gives_credit(self) -> bool {
        self.is_adaptive
            && self.time_limit.is_some()
            && matches!(self.max_searchers, Searchers::Half)
    }

    /// Whether each worker adapts its rounds.
    #[must_use]
    pub const fn has_adaptive_rounds(self) -> bool {
        self.is_adaptive
    }

    /// Returns how many awake and idle workers are enough for a poster, at least one.
    #[must_use]
    pub const fn enough_idle(self) -> usize {
        self.enough_idle.get() as usize
    }

    /// Returns the longest time for which a worker does its rounds, if there is a limit.
    #[must_use]
    pub const fn time_limit(self) -> Option<Duration> {
        match self.time_limit {
            None => None,
            Some(limit) => Some(Duration::from_nanos(limit as u64)),
        }
    }
}
