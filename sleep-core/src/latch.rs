//! The latch that a worker waits on, in four states.

use core::fmt;

use crate::{
    hook,
    primitive::{AtomicU8, Ordering},
};

#[cfg(test)]
mod tests;

/// No worker waits, or the waiter is awake and will look at the latch before it gets sleepy.
const UNSET: u8 = 0;
/// The waiter has begun to fall asleep.
const SLEEPY: u8 = 1;
/// The waiter sleeps, or is so close to it that it must be woken.
const SLEEPING: u8 = 2;
/// Final until the latch is reset. A bit of its own, which [`CoreLatch::wake_up`] keeps.
const SET: u8 = 4;

/// One event that one worker waits for, without a missed wake-up.
///
/// ```text
///           get_sleepy          fall_asleep
///   UNSET ────────────▶ SLEEPY ────────────▶ SLEEPING
///    │ ▲                  │ │                  │ │
///    │ └──────────────────┼─┴─── wake_up ──────┘ │
///    │ set                │ set                  │ set → true: wake the waiter
///    └────────────────────┴──────────▶ SET ◀─────┘
/// ```
///
/// [`set`](Self::set) tells whether the waiter must be woken. Without the two middle states, a
/// setter could not tell a waiter that will look again from one that is already falling asleep.
///
/// Only one worker may wait on a latch; any thread may set it. If two wait, the first one may stay
/// asleep when the latch is set. Debug assertions find the second one.
///
/// # Examples
/// ```
/// use sleep_core::CoreLatch;
///
/// let latch = CoreLatch::new();
/// // The waiter is on its way to sleep.
/// assert!(latch.get_sleepy() && latch.fall_asleep());
/// // SAFETY: 1. the latch lives; 2. no waiter relies on it.
/// let must_wake = unsafe { CoreLatch::set(&latch) };
/// assert!(must_wake && latch.probe());
/// ```
///
/// Source: `CoreLatch` of rayon's and Blitz' sleep modules.
pub struct CoreLatch {
    state: AtomicU8,
}

impl CoreLatch {
    const_unless_loom! {
        /// Creates a latch that is not set.
        #[must_use]
        pub fn new() -> Self {
            Self { state: AtomicU8::new(UNSET) }
        }
    }

    /// Whether the latch is set. If so, everything that happened before [`set`](Self::set) is
    /// visible.
    #[inline]
    #[must_use]
    pub fn probe(&self) -> bool {
        hook::point("looks at its latch");
        // Ordering: Acquire pairs with the Release of `set`: the waiter goes on to read what the
        // setter wrote (a job's result). Relaxed would let it read older memory.
        self.state.load(Ordering::Acquire) == SET
    }

    /// Notes that the waiter begins to fall asleep. Returns false if the latch is set.
    ///
    /// Only the waiter may call this, and only when the latch is awake: new, or after
    /// [`wake_up`](Self::wake_up).
    ///
    /// # Examples
    /// ```
    /// use sleep_core::CoreLatch;
    ///
    /// let latch = CoreLatch::new();
    /// assert!(latch.get_sleepy() && latch.fall_asleep());
    /// // The waiter is woken for another reason, and goes on waiting.
    /// latch.wake_up();
    /// assert!(!latch.probe() && latch.get_sleepy());
    /// ```
    #[must_use = "if the latch is set, the waiter must not sleep"]
    pub fn get_sleepy(&self) -> bool {
        hook::point("is about to get sleepy");
        self.advance(UNSET, SLEEPY)
    }

    /// Notes that the waiter is about to park. Returns false if the latch was set meanwhile: then
    /// the waiter must not park.
    ///
    /// The waiter must have registered as a sleeper before, so that the setter finds it.
    #[must_use = "if the latch is set, the waiter must not sleep"]
    pub fn fall_asleep(&self) -> bool {
        hook::point("is about to fall asleep");
        let falls_asleep = self.advance(SLEEPY, SLEEPING);
        hook::point("has told its latch that it falls asleep");
        falls_asleep
    }

    /// Notes that the waiter is awake again, for any reason. A latch that is set stays set.
    pub fn wake_up(&self) {
        // Ordering: Relaxed: it publishes nothing, and SET is looked at again through `probe`. That
        // reads what this wrote and still receives what the setter published, because this
        // is an exchange.
        self.state.fetch_and(SET, Ordering::Relaxed);
    }

    fn advance(&self, from: u8, to: u8) -> bool {
        // Ordering: Release, because of `fall_asleep`: the waiter opened its slot before it, and
        // the setter that reads SLEEPING (Acquire in `set`) must find that slot open. With
        // Relaxed it could find it closed and wake no worker, and the waiter would never return.
        // Relaxed on failure: that can only mean SET, which `probe` reads again.
        let result = self
            .state
            .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
        debug_assert!(
            matches!(result, Ok(_) | Err(SET)),
            "two workers wait for one latch, or its waiter left an earlier wait by a panic"
        );
        result.is_ok()
    }

    /// Sets the latch. Returns true if the waiter sleeps and the caller must wake it, with
    /// [`SleepProtocol::wake_worker`](crate::SleepProtocol::wake_worker).
    ///
    /// Takes a pointer, since the waiter may see the latch set, and end the frame that holds it,
    /// before this call returns. So nothing may be read from the latch, or from anything that lives
    /// beside it, after the call: take what is needed to wake the waiter before the call.
    ///
    /// Never blocks; may be called from an interrupt. Safe code sets a
    /// [`StopLatch`](crate::StopLatch).
    ///
    /// # Safety
    /// 1. `this` points to a live latch when the call begins.
    /// 2. The event that the waiter waits for has happened: the waiter may end a frame that others
    ///    use until then.
    #[inline]
    #[must_use = "a waiter that sleeps must be woken, by `SleepProtocol::wake_worker`"]
    pub unsafe fn set(this: *const Self) -> bool {
        hook::point("is about to set a latch");
        // SAFETY: the latch is alive by obligation 1. The reference ends with the one atomic
        // operation.
        let state = unsafe { &(*this).state };
        // Ordering: AcqRel. Release pairs with `probe`. Acquire pairs with `fall_asleep`, see
        // `advance`. Neither half can go.
        state.swap(SET, Ordering::AcqRel) == SLEEPING
    }

    /// Resets the latch for another wait. Only the waiter may call this, and not while it waits. A
    /// setter of the last wait that comes late sets the latch for this one.
    ///
    /// What happened before a [`set`](Self::set) that this undoes is visible.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::CoreLatch;
    ///
    /// let latch = CoreLatch::new();
    /// // SAFETY: 1. the latch lives; 2. no waiter relies on it.
    /// let must_wake = unsafe { CoreLatch::set(&latch) };
    /// assert!(!must_wake, "no worker sleeps");
    /// latch.reset();
    /// assert!(!latch.probe());
    /// ```
    pub fn reset(&self) {
        // Ordering: Acquire pairs with the Release of `set`, as in `probe`. An exchange, so that it
        // is the newest state that is undone and received.
        let old = self.state.swap(UNSET, Ordering::Acquire);
        debug_assert!(
            matches!(old, UNSET | SET),
            "a latch is reset while a worker waits for it"
        );
    }
}

impl Default for CoreLatch {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CoreLatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        f.write_str(match self.state.load(Ordering::Relaxed) {
            UNSET => "CoreLatch(UNSET)",
            SLEEPY => "CoreLatch(SLEEPY)",
            SLEEPING => "CoreLatch(SLEEPING)",
            _ => "CoreLatch(SET)",
        })
    }
}
