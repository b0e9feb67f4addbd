//! What a worker tells as it goes.

use super::{Event, WorkerSnapshot};

/// Returns the time in nanoseconds since some moment, if the platform has a clock.
pub type Clock = fn() -> Option<u64>;

/// Receives what one worker does, by that worker alone.
///
/// Each worker has one of its own. The compiler removes what an observer does not match: an event
/// that it ignores costs nothing. No event is told for a join whose second closure no thief takes.
///
/// A worker calls this from frames that other threads use, so it must not unwind. It should be
/// short, and must not use the pool.
///
/// # Examples
/// An observer that counts steals and nothing else:
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use pool_core::{Clock, Event, Observer};
///
/// #[derive(Default)]
/// struct Steals(AtomicUsize);
///
/// impl Observer for Steals {
///     fn observe(&self, event: Event, _clock: Clock) {
///         if let Event::Steal { .. } = event {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let steals = Steals::default();
/// steals.observe(Event::JobEnd, || None);
/// steals.observe(Event::Steal { victim: 2 }, || None);
/// assert_eq!(steals.0.into_inner(), 1);
/// ```
#[doc(alias(
    "on_job",
    "on_steal",
    "on_idle",
    "on_active",
    "takes_job",
    "has_stolen"
))]
#[doc(alias("became_idle", "became_active"))]
pub trait Observer: Send + Sync + 'static {
    /// Observes an event. `clock` reads the platform's clock, which costs as much as the rest of
    /// most events.
    fn observe(&self, event: Event, clock: Clock);

    /// Returns what was observed so far, if this observer counts. Any thread may call it.
    #[inline]
    fn snapshot(&self, _clock: Clock) -> Option<WorkerSnapshot> {
        None
    }
}

/// Observes nothing, for the smallest systems and for measuring what metrics cost.
///
/// # Examples
/// ```
/// use pool_core::{NoMetrics, Observer};
///
/// assert_eq!(size_of::<NoMetrics>(), 0);
/// NoMetrics.observe(pool_core::Event::JobEnd, || None);
/// assert!(NoMetrics.snapshot(|| None).is_none());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct NoMetrics;

impl NoMetrics {
    /// Creates an observer of nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

impl Observer for NoMetrics {
    #[inline(always)]
    fn observe(&self, _event: Event, _clock: Clock) {}
}

/// Tells both observers, the first one first. The snapshot is that of the first one that has one.
///
/// # Examples
/// ```
/// use pool_core::{Event, NoMetrics, Observer, WorkerCounters};
///
/// let both = (WorkerCounters::new(), NoMetrics);
/// both.observe(Event::Search, || None);
/// assert!(both.snapshot(|| None).is_some());
/// ```
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline(always)]
    fn observe(&self, event: Event, clock: Clock) {
        self.0.observe(event, clock);
        self.1.observe(event, clock);
    }

    #[inline]
    fn snapshot(&self, clock: Clock) -> Option<WorkerSnapshot> {
        self.0.snapshot(clock).or_else(|| self.1.snapshot(clock))
    }
}
