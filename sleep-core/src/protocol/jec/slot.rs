//! The place of one worker in the protocol with a jobs event counter.

use core::{fmt, ops::Deref};

use crossbeam_utils::CachePadded;

use crate::{
    parker::Parker,
    policy::{History, WakeTime},
    primitive::{AtomicUsize, LoadStoreU8, Ordering},
    protocol::slot::SlotState,
};

/// The place of one worker in [`Jec`](crate::Jec), on its own cache lines.
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
    state: SlotState<P>,
    /// The worker's own.
    history: History,
    wake_time: WakeTime,
    /// Which workers of one group may be asleep, see [`Sleepers`](super::wake::Sleepers).
    group: AtomicUsize,
    /// Whether few workers were awake when the worker last asked. For the thread that is the
    /// worker: its own, or a guest's.
    few_are_awake: LoadStoreU8,
}

impl<P> Slot<P> {
    const_unless_loom! {
        /// Creates a slot for a worker that is awake.
        #[must_use]
        pub fn new(parker: P) -> Self {
            Self { line: CachePadded::new(Line {
                state: SlotState::new(parker),
                history: History::new(),
                wake_time: WakeTime::new(),
                group: AtomicUsize::new(0),
                few_are_awake: LoadStoreU8::new(0),
            }) }
        }
    }

    /// Returns the worker's parker.
    #[must_use]
    pub fn parker(&self) -> &P {
        self.line.state.parker()
    }

    /// Returns the word that says whether the worker sleeps.
    pub(crate) fn state(&self) -> &SlotState<P> {
        &self.line.state
    }

    /// Returns what the worker has learned about its rounds. For the worker alone.
    pub(super) fn history(&self) -> &History {
        &self.line.history
    }

    /// Returns when the worker was woken. For the worker, and for a waker that has claimed it.
    pub(super) fn wake_time(&self) -> &WakeTime {
        &self.line.wake_time
    }

    /// Returns a word for a whole group of workers, which the slots of the first workers have.
    pub(super) fn group(&self) -> &AtomicUsize {
        &self.line.group
    }

    /// Whether few workers were awake when the worker last asked. For the thread that is the
    /// worker.
    pub(super) fn few_are_awake(&self) -> bool {
        // Ordering: Relaxed; only the thread that is the worker reads and writes this.
        self.line.few_are_awake.load(Ordering::Relaxed) != 0
    }

    /// Notes whether few workers are awake. For the thread that is the worker.
    pub(super) fn set_few_are_awake(&self, few: bool) {
        // Ordering: Relaxed, as above.
        self.line.few_are_awake.store(few.into(), Ordering::Relaxed);
    }
}

impl<P: fmt::Debug> fmt::Debug for Slot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.state.fmt(f)
    }
}

/// Where the slots of a [`Jec`](crate::Jec) are stored: anything that dereferences to `[Slot<P>]`,
/// and always to the same slice, such as a borrowed slice, a box, or [`Inline`](crate::Inline).
///
/// If it gives different slices, or another instance uses the same slots, wake-ups are lost or
/// calls panic, but no memory safety rests on it.
///
/// # Examples
/// See [`Jec`](crate::Jec): in a `static`, and in a box.
pub trait Slots {
    /// Blocks one worker.
    type Parker: Parker;

    /// Returns the workers' slots, in their order.
    fn slots(&self) -> &[Slot<Self::Parker>];
}

impl<P: Parker, S: Deref<Target = [Slot<P>]>> Slots for S {
    type Parker = P;

    #[inline]
    fn slots(&self) -> &[Slot<P>] {
        self
    }
}
