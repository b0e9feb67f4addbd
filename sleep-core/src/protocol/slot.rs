//! The shared state of one worker: whether it is asleep, and whether a waker has claimed it.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::{
    policy::History,
    primitive::{AtomicU8, AtomicUsize, Custody, Ordering},
};

#[cfg(test)]
mod tests;

/// The worker runs.
const AWAKE: u8 = 0;
/// The worker is counted as sleeping and may be claimed by any waker.
const ASLEEP: u8 = 1;
/// One waker has claimed the worker and has not finished waking it.
const WAKING: u8 = 2;

/// The place of one worker in a protocol that sleeps ([`Jec`](crate::Jec) and its siblings), on cache
/// lines of its own.
///
/// ```text
///          open                 claim                 release
///  AWAKE ────────▶ ASLEEP ──────────────▶ WAKING ──────────────▶ AWAKE
///    ▲   (worker)    │      (one waker)          (the same waker)
///    └───────────────┘
///         close (the worker turns back)
/// ```
///
/// The worker stays until `release`, so that a late `release` does not end its next sleep. A protocol
/// that counts sleepers lowers the count between `claim` and `release`. Then a worker that has left is
/// no longer counted, and the counts are exact: a waker that is interrupted half-way can make them
/// neither too large nor negative.
///
/// # Examples
/// ```
/// use sleep_core::{Parker, Slot};
///
/// struct Core(u32);
/// impl Parker for Core {
///     fn park(&self) { /* WFI */ }
///     fn unpark(&self) { /* an interrupt to core self.0 */ }
/// }
///
/// static SLOTS: [Slot<Core>; 2] = [Slot::new(Core(0)), Slot::new(Core(1))];
/// assert_eq!(SLOTS[1].parker().0, 1);
/// ```
pub struct Slot<P> {
    line: CachePadded<Line<P>>,
}

struct Line<P> {
    state: AtomicU8,
    parker: P,
    /// The worker's own.
    history: History,
    /// The right to change the sleeping count for this worker. It is the worker's while the slot is
    /// `AWAKE`, and the waker's while the slot is `WAKING`.
    count: Custody,
    /// Which workers of one group may be asleep: `Jec` says what it means.
    group: AtomicUsize,
}

impl<P> Slot<P> {
    const_unless_loom! {
        /// Creates a slot for a worker that is awake.
        #[must_use]
        pub fn new(parker: P) -> Self {
            Self { line: CachePadded::new(Line {
                state: AtomicU8::new(AWAKE),
                parker,
                history: History::new(),
                count: Custody::new(),
                group: AtomicUsize::new(0),
            }) }
        }
    }

    /// Returns the worker's parker.
    #[must_use]
    pub fn parker(&self) -> &P {
        &self.line.parker
    }

    /// Returns what the worker has learned about its rounds. For the worker alone.
    pub(crate) fn history(&self) -> &History {
        &self.line.history
    }

    /// Returns a word for a whole group of workers, which the slots of the first workers have.
    pub(crate) fn group(&self) -> &AtomicUsize {
        &self.line.group
    }

    fn state(&self) -> u8 {
        // Ordering: Relaxed; for debug output, and for assertions of the thread that alone may
        // change the state.
        self.line.state.load(Ordering::Relaxed)
    }

    /// Asserts the state, for the thread that alone may change it. In a model this does nothing: it
    /// would be one more step to interleave, and `count` finds two threads that both change it.
    #[inline(always)]
    fn assert_state(&self, expected: u8) {
        debug_assert!(
            cfg!(loom) || self.state() == expected,
            "not the state that this thread has made"
        );
    }

    /// Lets wakers claim the worker from now on. The worker has counted itself as sleeping before.
    pub(crate) fn open(&self) {
        self.assert_state(AWAKE);
        self.line.count.hold();
        // Ordering: Release pairs with the Acquire of `claim`: the waker lowers the count after the
        // worker has raised it. With Relaxed the count could pass below zero and borrow from the
        // inactive count. That wakers see the slot open in time is ensured by the latch's own
        // ordering (`CoreLatch::advance`) and by the fences in the protocols.
        self.line.state.store(ASLEEP, Ordering::Release);
    }

    /// Takes the worker back. Returns false if a waker has claimed it and will release it.
    pub(crate) fn close(&self) -> bool {
        // Ordering: Relaxed: after a success no waker has changed the count since `open`, so there is
        // nothing to receive; after a failure the worker waits for `is_awake`, which acquires.
        self.line
            .state
            .compare_exchange(ASLEEP, AWAKE, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Claims the worker for a waker, which must then wake it. At most one waker succeeds for each
    /// sleep.
    pub(crate) fn claim(&self) -> bool {
        // The plain load keeps wakers that look for a sleeper from taking the line away from
        // workers that are awake.
        //
        // Ordering: Acquire pairs with `open`, which says why. Relaxed on the load and on failure: a
        // slot that is not open is passed over; the fences in the protocols say why that is safe.
        self.line.state.load(Ordering::Relaxed) == ASLEEP
            && self
                .line
                .state
                .compare_exchange(ASLEEP, WAKING, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Claims the worker as [`claim`](Self::claim) does, for a waker that knows that the slot was
    /// opened.
    pub(crate) fn claim_known_sleeper(&self) -> bool {
        // Ordering: as in `claim`. No load before it: a compare-exchange acts on the newest state.
        self.line
            .state
            .compare_exchange(ASLEEP, WAKING, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Releases the worker that the caller has claimed.
    pub(crate) fn release(&self) {
        self.assert_state(WAKING);
        self.line.count.hold();
        // Ordering: Release pairs with `is_awake`: the worker may count itself as active, or as
        // sleeping again, only after the waker has lowered the count.
        self.line.state.store(AWAKE, Ordering::Release);
    }

    /// Whether the worker sleeps and no waker has claimed it. For debug output and statistics.
    pub(crate) fn is_asleep(&self) -> bool {
        self.state() == ASLEEP
    }

    /// Whether the worker has been released.
    pub(crate) fn is_awake(&self) -> bool {
        // Ordering: Acquire pairs with `release`, which says why.
        self.line.state.load(Ordering::Acquire) == AWAKE
    }
}

impl<P: fmt::Debug> fmt::Debug for Slot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state() {
            AWAKE => "AWAKE",
            ASLEEP => "ASLEEP",
            _ => "WAKING",
        };
        f.debug_struct("Slot")
            .field("state", &state)
            .field("parker", &self.line.parker)
            .finish()
    }
}
