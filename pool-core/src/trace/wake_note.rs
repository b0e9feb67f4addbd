//! Who has woken a worker.

use core::fmt;

use crate::{
    metrics::{Counter, WokenBy},
    primitive::{AtomicUsize, Ordering},
};

/// What a thread that wakes a worker leaves for it: the waker's number, and the time.
///
/// A platform keeps it in the worker's parker. `unpark` writes it before it gives the token, and
/// [`Platform::woken_by`](crate::Platform::woken_by) takes it. If two threads unpark one worker at
/// the same time, the note may have the number of one and the time of the other.
///
/// A waker releases the worker before it unparks it. So a worker that has not parked yet may find
/// itself awake before there is a note. Then it takes none, and not that of its last wake-up.
///
/// # Examples
/// ```
/// use pool_core::{WokenBy, trace::WakeNote};
///
/// let note = WakeNote::new();
/// assert_eq!(note.take(), WokenBy::UNKNOWN);
/// let waker = WokenBy { waker: 3, at: 1_000 };
/// note.set(waker);
/// assert_eq!(note.take(), waker);
/// assert_eq!(note.take(), WokenBy::UNKNOWN);
/// ```
pub struct WakeNote {
    waker: AtomicUsize,
    at: Counter,
}

impl WakeNote {
    const_unless_loom! {
        /// Creates a note that names no thread.
        #[must_use]
        pub fn new() -> Self {
            Self { waker: AtomicUsize::new(0), at: Counter::new() }
        }
    }

    /// Leaves a note. To be called before the token is made available.
    #[inline]
    pub fn set(&self, by: WokenBy) {
        // Ordering: Relaxed; the token publishes it. A worker that was released and has no token
        // yet may see a part of it, which only a trace shows.
        self.waker.store(by.waker as usize, Ordering::Relaxed);
        self.at.set(by.at);
    }

    /// Returns the note that was left last, if it was not taken.
    #[inline]
    pub fn get(&self) -> WokenBy {
        WokenBy {
            // Ordering: Relaxed, see `set`.
            waker: self.waker.load(Ordering::Relaxed) as u32,
            at: self.at.get(),
        }
    }

    /// Takes the note, for the worker that was woken.
    #[inline]
    pub fn take(&self) -> WokenBy {
        let note = self.get();
        // The time is lowered, unlike that of other counters: only a thread that looks at the same
        // moment could read a mix.
        self.set(WokenBy::UNKNOWN);
        note
    }
}

impl Default for WakeNote {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for WakeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WakeNote").field(&self.get()).finish()
    }
}
