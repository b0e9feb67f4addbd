//! How many workers search at a time.

use core::num::NonZero;

/// How many workers of a pool search for work at a time, before they sleep.
///
/// Few searchers suffice: one that finds work wakes others if there is more. Many searchers waste
/// processor time, and take the cache lines of the queues from each other and from the workers that
/// fill them.
///
/// Source: the spinning Ms of Go's scheduler, at most half of those that are busy, and the
/// searching workers of tokio, at most half of all.
///
/// # Examples
/// ```
/// use sleep_core::Searchers;
///
/// assert_eq!(Searchers::Half.among(9), 5);
/// assert_eq!(Searchers::Half.among(2), 2);
/// assert_eq!(Searchers::at_most(3).among(9), 3);
/// assert_eq!(Searchers::All.among(9), 9);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Searchers {
    /// Every worker may search.
    All,
    /// Half of the awake workers, rounded up: so a large pool with little to do has few searchers.
    /// But if two are awake, both may search: the second one takes a broadcast, or the second half
    /// of a join, without a wake-up. If rounds [adapt](crate::IdlePolicy::with_adaptive_rounds) and
    /// have a time limit, a worker that was woken within that time after it ran out of work may
    /// search 15 times beyond half. So a program that needs all workers again and again finds them
    /// awake.
    ///
    /// With more workers than processors, no more than half of [the
    /// processors](crate::IdlePolicy::for_processors).
    Half,
    /// At most this number.
    AtMost(NonZero<u16>),
}

impl Searchers {
    /// One worker at a time.
    pub const ONE: Self = Self::AtMost(NonZero::<u16>::MIN);

    /// Returns a limit of `workers`, which is at least one. A number that no pool can have counts
    /// as 65,535.
    #[must_use]
    pub const fn at_most(workers: usize) -> Self {
        Self::AtMost(at_least_one(workers))
    }

    /// Returns how many may search at a time if `workers` are awake.
    #[must_use]
    pub const fn among(self, workers: usize) -> usize {
        match self {
            Self::All => workers,
            Self::Half if workers == 2 => 2,
            Self::Half => workers.div_ceil(2),
            Self::AtMost(most) => most.get() as usize,
        }
    }
}

/// Returns a number of workers as a limit: 1 for 0, and 65,535 for more than that.
pub(super) const fn at_least_one(workers: usize) -> NonZero<u16> {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the smaller of it and the maximum"
    )]
    let workers = if workers > u16::MAX as usize {
        u16::MAX
    } else {
        workers as u16
    };
    match NonZero::new(workers) {
        Some(workers) => workers,
        None => NonZero::<u16>::MIN,
    }
}
