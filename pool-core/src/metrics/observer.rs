//! What a worker tells as it goes.

use super::WorkerSnapshot;

/// Returns the time in nanoseconds since some moment, if the platform has a clock.
pub type Clock = fn() -> Option<u64>;

/// Receives what one worker does, by that worker alone.
///
/// Each worker has one of its own. No method does anything unless it is implemented, and the
/// compiler removes calls of such methods. None is called for a join whose second closure no thief
/// takes.
///
/// A worker calls these methods from frames that other threads use, so none may unwind. They should
/// be short, and must not use the pool.
///
/// # Examples
/// An observer that counts steals and nothing else:
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use pool_core::Observer;
///
/// #[derive(Default)]
/// struct Steals(AtomicUsize);
///
/// impl Observer for Steals {
///     fn on_steal(&self) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let steals = Steals::default();
/// steals.on_job();
/// steals.on_steal();
/// assert_eq!(steals.0.into_inner(), 1);
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Observes that a thread has become the worker: it is active.
    #[inline]
    fn on_enter(&self, _clock: Clock) {}

    /// Observes that the thread ceases to be the worker: it is absent.
    #[inline]
    fn on_leave(&self, _clock: Clock) {}

    /// Observes that the worker has run out of work and begins to search, or that it was woken and
    /// has found none: it is idle.
    #[doc(alias = "became_idle")]
    #[inline]
    fn on_idle(&self, _clock: Clock) {}

    /// Observes that the worker stops searching, since it has a job or no longer needs one: it is
    /// active.
    #[doc(alias = "became_active")]
    #[inline]
    fn on_active(&self, _clock: Clock) {}

    /// Observes that the idle worker is about to park: it is asleep.
    #[inline]
    fn on_sleep(&self, _clock: Clock) {}

    /// Observes that the worker was woken. It is on its way to a job: if its first search finds
    /// none, [`on_idle`](Self::on_idle) follows.
    #[inline]
    fn on_wake(&self, _clock: Clock) {}

    /// Observes that a guest is the worker no more, whose own thread sleeps on. That a guest has
    /// come is not observed: to read a clock costs as much as the rest of a short call. So the
    /// worker counts as asleep until the guest first searches for jobs.
    #[inline]
    fn on_guest_left(&self, _clock: Clock) {}

    /// Observes that the last wake-up was fruitless. The worker has not found a job since, what it
    /// waits for has not happened, and it is about to sleep again.
    #[inline]
    fn on_fruitless_wake(&self) {}

    /// Observes that the worker is about to run a job that it took from a queue.
    #[doc(alias = "takes_job")]
    #[inline]
    fn on_job(&self) {}

    /// Observes that the worker has spawned a job onto its own deque.
    #[inline]
    fn on_post(&self) {}

    /// Observes that the worker's deque is full. The worker runs the job itself.
    #[inline]
    fn on_deque_full(&self) {}

    /// Observes that the worker is about to look at all sources of work once.
    #[inline]
    fn on_search(&self) {}

    /// Observes that the worker is about to steal from another one's deque, which is not empty.
    #[inline]
    fn on_steal_attempt(&self) {}

    /// Observes that the attempt succeeded.
    #[doc(alias = "has_stolen")]
    #[inline]
    fn on_steal(&self) {}

    /// Observes that another thread was faster, or kept the attempt from deciding: the worker tries
    /// again.
    #[inline]
    fn on_steal_retry(&self) {}

    /// Observes that the attempt makes the victim pop with fences again, which it did without.
    #[inline]
    fn on_revocation(&self) {}

    /// Returns what was observed so far, if this observer counts. Any thread may call it.
    #[inline]
    fn snapshot(&self, _clock: Clock) -> Option<WorkerSnapshot> {
        None
    }
}

/// Implements methods by those of two observers.
macro_rules! both {
    ($($method:ident($($argument:ident: $type:ty)?)),* $(,)?) => {$(
        #[inline]
        fn $method(&self $(, $argument: $type)?) {
            self.0.$method($($argument)?);
            self.1.$method($($argument)?);
        }
    )*};
}

/// Observes nothing, for the smallest systems and for measuring what metrics cost.
///
/// # Examples
/// ```
/// use pool_core::{NoMetrics, Observer};
///
/// assert_eq!(size_of::<NoMetrics>(), 0);
/// NoMetrics.on_job();
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

impl Observer for NoMetrics {}

/// Tells both observers, the first one first. The snapshot is that of the first one that has one.
///
/// # Examples
/// ```
/// use pool_core::{NoMetrics, Observer, WorkerCounters};
///
/// let both = (WorkerCounters::new(), NoMetrics);
/// both.on_job();
/// assert!(both.snapshot(|| None).is_some());
/// ```
impl<A: Observer, B: Observer> Observer for (A, B) {
    both! {
        on_enter(clock: Clock),
        on_leave(clock: Clock),
        on_idle(clock: Clock),
        on_active(clock: Clock),
        on_sleep(clock: Clock),
        on_wake(clock: Clock),
        on_guest_left(clock: Clock),
        on_fruitless_wake(),
        on_job(),
        on_post(),
        on_deque_full(),
        on_search(),
        on_steal_attempt(),
        on_steal(),
        on_steal_retry(),
        on_revocation(),
    }

    #[inline]
    fn snapshot(&self, clock: Clock) -> Option<WorkerSnapshot> {
        self.0.snapshot(clock).or_else(|| self.1.snapshot(clock))
    }
}
