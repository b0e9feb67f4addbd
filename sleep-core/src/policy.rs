//! How long an idle worker searches before it sleeps, and how many workers do so at a time.

use core::{num::NonZero, time::Duration};

mod history;
mod relax;
mod search;
mod searchers;
mod settings;
#[cfg(all(test, not(loom)))]
mod tests;

pub use history::Purpose;
pub(crate) use history::{History, WakeTime};
pub use relax::Relax;
pub(crate) use search::{Search, Step};
pub use searchers::Searchers;
use searchers::at_least_one;

/// What [`IdlePolicy::enough_idle`] is where each worker has a processor.
///
/// A wake-up takes some three times as long as the call that begins it, so a poster alone cannot
/// keep more than a few on their way. In the simulator, more than eight occupy 64 workers no
/// sooner. The models of this crate have few workers.
const ENOUGH_IDLE: usize = if cfg!(all(loom, test)) { 1 } else { 8 };

/// How an idle worker goes to sleep: how many fruitless searches until it becomes sleepy, how many
/// until it sleeps, and what it does between two of them.
///
/// More rounds find new work sooner, but use more processor time when there is none. With 0 rounds,
/// a worker sleeps after the second fruitless search. It becomes sleepy before that search, so that
/// a job that is posted meanwhile keeps it awake. With [`Hints`](crate::Hints), it sleeps after the
/// first one, because no other worker has to know that it is sleepy.
///
/// Start from a preset, and change it with the `with_` methods:
///
/// | preset | rounds | at most | adaptive | searchers |
/// | --- | --- | --- | --- | --- |
/// | [`LATENCY`](Self::LATENCY) | 512 | 200 us | yes | all |
/// | [`BALANCED`](Self::BALANCED), the default | 256 | 50 us | yes | half |
/// | [`POWER`](Self::POWER) | 2 | 5 us | yes | 1 |
/// | [`IMMEDIATE`](Self::IMMEDIATE) | 0 | | | all |
///
/// Whatever the policy, a worker that was woken and finds nothing searches half as many rounds as
/// before, until it has found work. [`Classic`](crate::Classic) obeys only the two numbers of
/// rounds; if they are to adapt, it always does a quarter of the greatest number.
///
/// Liveness does not depend on a policy: each worker looks at every queue when it has registered as
/// a sleeper, however little it has searched before.
///
/// # Fixed when the program is compiled
/// [`Jec`](crate::Jec) and [`Hints`](crate::Hints) take any type that is `AsRef<IdlePolicy>`
/// instead of a policy, and read the policy through it. Your own type that returns a constant takes
/// no memory, and the code for options that its policy does not choose is compiled away. This pays
/// off on small processors:
///
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, Relax, Slot};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFI */ }
///     fn unpark(&self) { /* an interrupt */ }
/// }
///
/// /// Searches four times, then sleeps.
/// struct Calm;
/// impl AsRef<IdlePolicy> for Calm {
///     fn as_ref(&self) -> &IdlePolicy {
///         const { &IdlePolicy::new(4, 5, Relax::Spin(10)) }
///     }
/// }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>, Calm> =
///     Jec::from_array([const { Slot::new(Core) }; 2], Calm);
/// assert_eq!(SLEEP.policy().rounds_until_sleepy(), 4);
/// ```
///
/// A type that does not always give the same policy changes how long workers search, and how many
/// of them posters wake, and nothing else. If it panics, its worker may stay counted among those
/// that search, on which posters count, or a poster may wake no worker.
///
/// # Examples
/// ```
/// use core::time::Duration;
/// use sleep_core::{IdlePolicy, Relax, Searchers};
///
/// // For workers that have a core each: search a hundred times, then sleep.
/// const POLICY: IdlePolicy = IdlePolicy::new(100, 101, Relax::Spin(20));
/// assert_eq!(POLICY.rounds_until_sleepy(), 100);
///
/// // The same, but not where searching has not paid off lately, and never for longer than 50 us.
/// const ADAPTIVE: IdlePolicy = POLICY
///     .with_adaptive_rounds(true)
///     .with_time_limit(Some(Duration::from_micros(50)))
///     .with_max_searchers(Searchers::Half);
/// assert!(ADAPTIVE.has_adaptive_rounds());
/// assert_eq!(IdlePolicy::default(), IdlePolicy::BALANCED);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdlePolicy {
    rounds_until_sleepy: u32,
    rounds_until_sleeping: u32,
    relax: Relax,
    max_searchers: Searchers,
    is_adaptive: bool,
    /// In nanoseconds.
    time_limit: Option<u32>,
    enough_idle: NonZero<u16>,
    /// If there are fewer than workers.
    processors: Option<NonZero<u16>>,
}

impl IdlePolicy {
    /// Finds new work within microseconds, for programs that have the processors to themselves: 512
    /// rounds at most, 200 us at most, and every worker may search. Uses the most processor time.
    pub const LATENCY: Self = Self::new(512, 513, Relax::Yield)
        .with_adaptive_rounds(true)
        .with_time_limit(Some(Duration::from_micros(200)));

    /// The default: 256 rounds and 50 us at most. [Half](Searchers::Half) of the workers that are
    /// awake may search at a time, and more while all of them are needed again and again. If the
    /// parker has a clock, the time limit is reached first.
    pub const BALANCED: Self = Self::new(256, 257, Relax::Yield)
        .with_adaptive_rounds(true)
        .with_time_limit(Some(Duration::from_micros(50)))
        .with_max_searchers(Searchers::Half);

    /// Almost no searching: two rounds at most, none until pauses are shorter than 5 us, and one
    /// worker at a time. For programs that share the machine, or a battery.
    pub const POWER: Self = Self::new(2, 3, Relax::Yield)
        .with_adaptive_rounds(true)
        .with_time_limit(Some(Duration::from_micros(5)))
        .with_max_searchers(Searchers::ONE);

    /// The default policy: [`BALANCED`](Self::BALANCED).
    pub const DEFAULT: Self = Self::BALANCED;

    /// No rounds: sleeps as soon as it is safe. Least processor time, slowest reaction.
    pub const IMMEDIATE: Self = Self::new(0, 0, Relax::Yield);

    /// Creates a policy with these numbers of rounds, which do not adapt, for any number of
    /// searchers and without a time limit.
    ///
    /// `rounds_until_sleeping` counts from the same start as `rounds_until_sleepy`; if it is the
    /// smaller one, the worker sleeps right after its sleepy search.
    #[must_use]
    pub const fn new(rounds_until_sleepy: u32, rounds_until_sleeping: u32, relax: Relax) -> Self {
        Self {
            rounds_until_sleepy,
            rounds_until_sleeping,
            relax,
            max_searchers: Searchers::All,
            is_adaptive: false,
            time_limit: None,
            enough_idle: at_least_one(ENOUGH_IDLE),
            processors: None,
        }
    }

    /// Sets how many workers search at a time. A worker beyond that goes to sleep without rounds,
    /// unless it [waits for a job](crate::Purpose::Wait). With adaptive rounds, [`Searchers::Half`]
    /// also lets those workers search that were needed again soon after they fell asleep.
    ///
    /// [`Jec`](crate::Jec) obeys it. [`Classic`](crate::Classic) and [`Hints`](crate::Hints) do not
    /// count the workers that search, and let all of them do so.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::{IdlePolicy, Searchers};
    ///
    /// let policy = IdlePolicy::LATENCY.with_max_searchers(Searchers::at_most(4));
    /// assert_eq!(policy.searchers_among(64), 4);
    /// ```
    #[must_use]
    pub const fn with_max_searchers(mut self, max_searchers: Searchers) -> Self {
        self.max_searchers = max_searchers;
        self
    }

    /// Sets whether each worker adapts its rounds. `rounds_until_sleepy` is the greatest number.
    /// Each worker starts from the least, a sixty-fourth of it, rounded down. The number
    /// doubles after rounds that found work. It also doubles if the worker was without work, in
    /// rounds and asleep until another thread woke it, for no longer than the time limit. After a
    /// longer time it drops to a quarter, after more than twice the limit to an eighth, and so on.
    ///
    /// [`Jec`](crate::Jec) and [`Hints`](crate::Hints) learn from [waits](crate::Purpose::Wait) for
    /// a running job separately from searches for the next one.
    ///
    /// If the parker has no [clock](crate::Parker::now), each sleep counts as long and removes two
    /// doublings, so rounds grow only if more than two of three searches find work. In that case,
    /// there is always at least one round, unless there are none at all: it lets the worker find
    /// out that rounds pay off again. With a clock and without a time limit, each sleep counts as
    /// short, so the rounds only grow.
    ///
    /// Source: the `halt_poll_ns` of Linux' virtual machines, which grows and shrinks likewise.
    #[doc(alias = "halt_poll")]
    #[must_use]
    pub const fn with_adaptive_rounds(mut self, is_adaptive: bool) -> Self {
        self.is_adaptive = is_adaptive;
        self
    }

    /// Sets the longest time for which a worker does its rounds before it becomes sleepy, however
    /// many are left. At most some four seconds. This neither limits nor adapts the rounds of a
    /// sleepy worker, `rounds_until_sleeping - rounds_until_sleepy`.
    ///
    /// If workers [share processors](Self::for_processors), the limit is for a worker's share of
    /// the time: with three workers awake for each processor, the rounds last three times as long.
    /// Meanwhile the others run.
    ///
    /// Has no effect if the parker has no [clock](crate::Parker::now): then the number of rounds is
    /// the only limit.
    ///
    /// # Examples
    /// ```
    /// use core::time::Duration;
    /// use sleep_core::IdlePolicy;
    ///
    /// let limit = Some(Duration::from_micros(3));
    /// assert_eq!(IdlePolicy::POWER.with_time_limit(limit).time_limit(), limit);
    /// // More than a policy holds.
    /// let hour = IdlePolicy::POWER.with_time_limit(Some(Duration::from_secs(3600)));
    /// assert!(hour.time_limit() < Some(Duration::from_secs(5)));
    /// ```
    #[must_use]
    pub const fn with_time_limit(mut self, limit: Option<Duration>) -> Self {
        self.time_limit = match limit {
            None => None,
            Some(limit) if limit.as_nanos() >= u32::MAX as u128 => Some(u32::MAX),
            #[allow(
                clippy::cast_possible_truncation,
                reason = "the arm above has the rest"
            )]
            Some(limit) => Some(limit.as_nanos() as u32),
        };
        self
    }

    /// Sets how many awake and idle workers are enough for a poster: while there are that many, it
    /// wakes no other worker, however many jobs it posts. A worker of these that finds a job wakes
    /// others, as long as there are more jobs. At least 1, at most 65,535; eight by default.
    ///
    /// [`Jec`](crate::Jec) obeys it. With [`Hints`](crate::Hints) the number of jobs decides, and
    /// [`Classic`](crate::Classic) wakes all workers.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::IdlePolicy;
    ///
    /// assert_eq!(IdlePolicy::BALANCED.with_enough_idle(3).enough_idle(), 3);
    /// assert_eq!(IdlePolicy::BALANCED.with_enough_idle(0).enough_idle(), 1);
    /// ```
    #[must_use]
    pub const fn with_enough_idle(mut self, workers: usize) -> Self {
        self.enough_idle = at_least_one(workers);
        self
    }

    /// Returns the policy for a machine with this number of processors. With one, it has no rounds,
    /// because no other worker can create work while one searches. With several, a limit of half of
    /// the workers ([`Searchers::Half`]) is also a limit of half of the processors.
    ///
    /// Workers that were needed again soon may exceed that, see
    /// [`with_max_searchers`](Self::with_max_searchers). The
    /// [time limit](Self::with_time_limit) is extended while more workers are awake than have a
    /// processor.
    ///
    /// If there are fewer processors than workers, as many idle workers are
    /// [enough](Self::enough_idle) for a poster as there are processors besides its own.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::IdlePolicy;
    ///
    /// let policy = IdlePolicy::BALANCED.for_processors(64, 8);
    /// assert_eq!(policy.searchers_among(64), 4);
    /// assert_eq!(policy.enough_idle(), 7);
    /// assert_eq!(IdlePolicy::LATENCY.for_processors(2, 1).rounds_until_sleepy(), 0);
    /// ```
    #[must_use]
    pub const fn for_processors(mut self, workers: usize, processors: usize) -> Self {
        if processors <= 1 {
            self.rounds_until_sleepy = 0;
            self.rounds_until_sleeping = 0;
        }
        if processors < workers {
            self.processors = Some(at_least_one(processors));
            // The poster has one of them.
            let others = processors.saturating_sub(1);
            if others < self.enough_idle() {
                self = self.with_enough_idle(others);
            }
        }
        self
    }
}

impl AsRef<Self> for IdlePolicy {
    #[inline]
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Default for IdlePolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}
