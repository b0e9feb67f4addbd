//! A lock whose holder is notified of each failed attempt to acquire it.

use core::fmt;

use sleep_primitives::{AtomicU8, Ordering, const_unless_loom};

#[cfg(test)]
mod tests;

/// No thread holds the lock.
const FREE: u8 = 0;
/// A thread holds the lock.
const HELD: u8 = 1;
/// A thread holds the lock, and another one has tried to acquire it since.
const AGAIN: u8 = 2;

/// A lock for a queue that has one reaper at a time, such as the completions of a device.
///
/// A thread that finds the lock held need not wait: the holder sees the attempt when it
/// [releases](Self::release) the lock, and reaps once more. So each entry that either thread knows
/// about is reaped.
///
/// ```text
///          try_acquire            try_acquire → false
///   FREE ──────────────▶ HELD ────────────────────────▶ AGAIN
///    ▲                   │  ▲                             │
///    └─ release → true ──┘  └────── release → false ──────┘
/// ```
///
/// Source: EMPER's completer, which lost completions when it forgot an attempt.
pub(crate) struct ReapLock {
    state: AtomicU8,
}

impl ReapLock {
    const_unless_loom! {
        /// Creates a lock that no thread holds.
        #[must_use]
        pub(crate) fn new() -> Self {
            Self { state: AtomicU8::new(FREE) }
        }
    }

    /// Acquires the lock, or records the attempt for the holder. Returns whether the caller is now
    /// the holder. Never waits.
    pub(crate) fn try_acquire(&self) -> bool {
        // Ordering: Acquire on success pairs with the Release of `release`: the next reaper sees
        // how far the last one has come. Release when storing AGAIN, even if the state is already
        // AGAIN, pairs with the Acquire of `release`: the holder's next look finds the entry that
        // the caller of this attempt knows about.
        let attempt = |state| if state == FREE { HELD } else { AGAIN };
        let before = self
            .state
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |state| {
                Some(attempt(state))
            });
        before == Ok(FREE)
    }

    /// Releases the lock, unless another thread has tried to acquire it. In that case it returns
    /// false, and the caller still holds the lock and must reap again.
    ///
    /// Only the holder may call this.
    #[must_use = "if not, the caller must reap again"]
    pub(crate) fn release(&self) -> bool {
        // Ordering: Release on success pairs with the Acquire of `try_acquire`.
        if self
            .state
            .compare_exchange(HELD, FREE, Ordering::Release, Ordering::Relaxed)
            .is_ok()
        {
            return true;
        }
        // Ordering: Acquire pairs with the Release of the attempts that failed. An exchange,
        // because a load and a store would miss the attempts in between.
        self.state.swap(HELD, Ordering::Acquire);
        false
    }
}

impl fmt::Debug for ReapLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let state = match self.state.load(Ordering::Relaxed) {
            FREE => "free",
            HELD => "held",
            _ => "held, again",
        };
        f.debug_tuple("ReapLock").field(&state).finish()
    }
}
