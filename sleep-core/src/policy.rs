//! How long an idle worker searches before it sleeps.

/// How an idle worker goes to sleep: how many fruitless searches until it gets sleepy, how many
/// until it sleeps, and what it does between two of them.
///
/// More rounds find new work sooner and burn more processor time when there is none. With 0
/// rounds a worker sleeps after the second fruitless search. It always searches a second time, since
/// only a search after getting sleepy makes sleeping safe.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Relax};
///
/// // For workers that have a core each: search a hundred times, then sleep.
/// const POLICY: IdlePolicy = IdlePolicy::new(100, 101, Relax::Spin(20));
/// assert_eq!(POLICY.rounds_until_sleepy(), 100);
/// assert_eq!(IdlePolicy::default(), IdlePolicy::DEFAULT);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdlePolicy {
    rounds_until_sleepy: u32,
    rounds_until_sleeping: u32,
    relax: Relax,
}

impl IdlePolicy {
    /// 32 rounds until sleepy, one more until sleeping, yielding in between: the figures that
    /// rayon and Blitz settled on.
    pub const DEFAULT: Self = Self::new(32, 33, Relax::Yield);

    /// No rounds: sleeps as soon as it is safe. Least processor time, slowest reaction.
    pub const IMMEDIATE: Self = Self::new(0, 0, Relax::Yield);

    /// Creates a policy with these numbers of rounds.
    ///
    /// `rounds_until_sleeping` counts from the same start as `rounds_until_sleepy`; if it is the
    /// smaller one, the worker sleeps right after its sleepy search.
    #[must_use]
    pub const fn new(rounds_until_sleepy: u32, rounds_until_sleeping: u32, relax: Relax) -> Self {
        Self {
            rounds_until_sleepy,
            rounds_until_sleeping,
            relax,
        }
    }

    /// Returns the number of fruitless searches before a worker gets sleepy.
    #[must_use]
    pub const fn rounds_until_sleepy(self) -> u32 {
        self.rounds_until_sleepy
    }

    /// Returns the number of fruitless searches before a worker sleeps.
    #[must_use]
    pub const fn rounds_until_sleeping(self) -> u32 {
        self.rounds_until_sleeping
    }

    /// Returns what a worker does between two searches.
    #[must_use]
    pub const fn relax(self) -> Relax {
        self.relax
    }
}

impl Default for IdlePolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What an idle worker does between two searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relax {
    /// Executes the processor's spin hint this many times. For workers that have a core each.
    Spin(u32),
    /// Calls [`Parker::relax`](crate::Parker::relax), which yields to other threads where there
    /// is a scheduler.
    Yield,
}
