//! The state of a pool in one atomic word.
//!
//! ```text
//!  high                               0
//! +------------------------------+------+
//! | index + 1 of the sleepy one  | some |
//! | 0: no worker is sleepy       | sleep|
//! +------------------------------+------+
//! ```

use core::fmt;

use crate::{
    index::WorkerIndex,
    primitive::{AtomicUsize, Ordering},
};

#[cfg(test)]
mod tests;

/// Some workers are asleep, or on their way there.
const SOME_ASLEEP: usize = 1;

/// Whether workers sleep, and which worker is sleepy, changed together.
///
/// Every change is an exchange, so an acquire of the word receives what every earlier release
/// published, no matter how many workers have changed the word in between.
pub(super) struct AtomicState {
    word: AtomicUsize,
}

impl AtomicState {
    const_unless_loom! {
        /// Creates the state of a pool in which all workers are awake.
        pub(super) fn new() -> Self {
            Self { word: AtomicUsize::new(0) }
        }
    }

    /// Reads the state at this instant, for debug output.
    pub(super) fn load(&self) -> State {
        // Ordering: Relaxed; debug output only.
        State(self.word.load(Ordering::Relaxed))
    }

    /// Whether no worker is sleepy or asleep. One load and one comparison.
    #[inline]
    pub(super) fn all_are_awake(&self) -> bool {
        // Ordering: Relaxed. A poster whose job no sleeper may overlook executes a fence before it;
        // for all others the state may be out of date.
        self.word.load(Ordering::Relaxed) == 0
    }

    /// Makes `worker` the sleepy one. Returns false if another worker is.
    pub(super) fn get_sleepy(&self, worker: WorkerIndex) -> bool {
        // Ordering: Relaxed, since the exchange below confirms what it acts on; a failure writes
        // nothing and promises nothing.
        let mut state = State(self.word.load(Ordering::Relaxed));
        while state.sleepy_worker().is_none() {
            // Ordering: Acquire pairs with the Release of `strip`. The sleepy search that follows
            // sees the jobs of all tickles that came before; with Relaxed it could read
            // older queues.
            match self.word.compare_exchange(
                state.0,
                state.0 | State::sleepy(worker),
                Ordering::Acquire,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(now) => state = State(now),
            }
        }
        false
    }

    /// Whether `worker` is the sleepy one still. No tickle has come since it got sleepy then.
    pub(super) fn is_sleepy(&self, worker: WorkerIndex) -> bool {
        // Ordering: Acquire pairs with the Release of `strip`: a worker that is not sleepy any more
        // sees the job of that tickle in its next search.
        let state = State(self.word.load(Ordering::Acquire));
        state.is_sleepy(worker)
    }

    /// Moves `worker` from sleepy to asleep. Returns false if a tickle has come since it got
    /// sleepy.
    pub(super) fn fall_asleep(&self, worker: WorkerIndex) -> bool {
        self.end_sleepiness(worker, SOME_ASLEEP)
    }

    /// Makes `worker` awake if it is the sleepy one.
    pub(super) fn stop_being_sleepy(&self, worker: WorkerIndex) {
        self.end_sleepiness(worker, 0);
    }

    fn end_sleepiness(&self, worker: WorkerIndex, asleep: usize) -> bool {
        // Ordering: Acquire on the load and on failure, as in `is_sleepy`. On success Release pairs
        // with the Acquire of `strip`: the thread that takes `SOME_ASLEEP` out finds the slot open
        // of each worker that put it in. With Relaxed it could pass such a worker over, and
        // no later tickle would look for it.
        let mut state = State(self.word.load(Ordering::Acquire));
        while state.is_sleepy(worker) {
            match self.word.compare_exchange(
                state.0,
                state.0 & SOME_ASLEEP | asleep,
                Ordering::Release,
                Ordering::Acquire,
            ) {
                Ok(_) => return true,
                Err(now) => state = State(now),
            }
        }
        false
    }

    /// Makes all workers awake: no worker is sleepy any more. Returns true if workers were asleep,
    /// which the caller must wake.
    pub(super) fn strip(&self) -> bool {
        // Ordering: AcqRel. Release publishes the job to the workers that are sleepy now, or get
        // sleepy later (`is_sleepy`, `get_sleepy`). Acquire pairs with `fall_asleep`, see
        // `end_sleepiness`.
        State(self.word.swap(0, Ordering::AcqRel)).some_asleep()
    }
}

/// The state of a pool at one instant.
///
/// # Examples
/// ```
/// use sleep_core::{Classic, ClassicSlot, CoreLatch, IdlePolicy, Parker, Purpose, SleepProtocol};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let slots = [ClassicSlot::new(Core), ClassicSlot::new(Core)];
/// let sleep = Classic::from_array(slots, IdlePolicy::IMMEDIATE);
/// let mut idle = sleep.start_looking(sleep.worker(0)?, Purpose::Job);
/// sleep.no_work_found(&mut idle, &CoreLatch::new(), || false);
/// assert_eq!(sleep.state().sleepy_worker(), Some(0));
/// assert!(!sleep.state().some_asleep());
/// # sleep.work_found(idle, || false);
/// # Ok::<(), sleep_core::UnknownWorker>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct State(usize);

impl State {
    /// Returns the bits that say that this worker is sleepy.
    const fn sleepy(worker: WorkerIndex) -> usize {
        (worker.get() + 1) << 1
    }

    const fn is_sleepy(self, worker: WorkerIndex) -> bool {
        self.0 & !SOME_ASLEEP == Self::sleepy(worker)
    }

    /// Whether workers are asleep or on their way there. It stays true until the next tickle, even
    /// if the last sleeper has been woken alone meanwhile.
    #[must_use]
    pub const fn some_asleep(self) -> bool {
        self.0 & SOME_ASLEEP != 0
    }

    /// Returns the number of the sleepy worker, if there is one.
    #[must_use]
    pub const fn sleepy_worker(self) -> Option<usize> {
        (self.0 >> 1).checked_sub(1)
    }

    /// Returns the word itself: `SOME_ASLEEP` in bit 0, and above it one more than the sleepy
    /// worker's number.
    #[must_use]
    pub const fn word(self) -> usize {
        self.0
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("some_asleep", &self.some_asleep())
            .field("sleepy_worker", &self.sleepy_worker())
            .finish()
    }
}
