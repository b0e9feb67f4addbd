//! The word that every thread reads.

use sleep_primitives::{AtomicWord, Ordering, RawWord};

use crate::moment::STEP;

/// The value that progress has reached, and the flags that threads must handle. One load returns
/// both.
#[derive(Clone, Copy)]
pub(crate) struct State(RawWord);

/// A thread blocks the others.
const BLOCKED: RawWord = 0b010;
/// A participant or an operation may wait for a value.
const WAKEUPS: RawWord = 0b100;

const _: () = assert!(BLOCKED | WAKEUPS | 1 == STEP - 1);

impl State {
    /// Returns the value that all threads have confirmed.
    #[inline]
    pub(crate) const fn value(self) -> RawWord {
        self.0 & !(BLOCKED | WAKEUPS)
    }

    /// Whether progress has come exactly to this value and no flag is set.
    #[inline]
    pub(crate) const fn is_quiet_at(self, value: RawWord) -> bool {
        self.0 == value
    }

    /// Whether a thread blocks the others.
    #[inline]
    pub(crate) const fn is_blocked(self) -> bool {
        self.0 & BLOCKED != 0
    }

    /// Whether a participant or an operation may wait for a value.
    #[inline]
    pub(crate) const fn has_wakeups(self) -> bool {
        self.0 & WAKEUPS != 0
    }

    /// Whether a flag is set that a thread must handle when it goes to wait.
    #[inline]
    pub(crate) const fn has_pending(self) -> bool {
        self.0 & (BLOCKED | WAKEUPS) != 0
    }
}

/// The word that stores the [`State`].
pub(crate) struct SharedState(AtomicWord);

impl SharedState {
    const_unless_loom! {
        pub(crate) fn new(value: RawWord) -> Self {
            Self(AtomicWord::new(value))
        }
    }

    #[inline]
    pub(crate) fn load(&self) -> State {
        // Ordering: Acquire pairs with `advance`: what all threads did before they confirmed
        // happens before what follows here, such as freeing. It also pairs with `unblock`: the
        // released threads see what the blocker did. Fences of the caller see to it that the flags
        // are seen in time.
        State(self.0.load(Ordering::Acquire))
    }

    /// Returns the value. Only the leader may call this.
    pub(crate) fn leaders_value(&self) -> RawWord {
        // Ordering: Relaxed; only leaders change the value.
        State(self.0.load(Ordering::Relaxed)).value()
    }

    /// Advances to the next value. Only the leader may call this.
    pub(crate) fn advance(&self) {
        // Ordering: Release publishes what the leader received to every thread that loads the
        // value.
        self.0.fetch_add(STEP, Ordering::Release);
    }

    pub(crate) fn block(&self) {
        // Ordering: Relaxed; a heavy fence of the caller publishes it.
        self.0.fetch_or(BLOCKED, Ordering::Relaxed);
    }

    pub(crate) fn unblock(&self) {
        // Ordering: Release pairs with `load`.
        self.0.fetch_and(!BLOCKED, Ordering::Release);
    }

    /// Notes that a participant wants a value or that an operation waits for one. Returns the state
    /// before.
    pub(crate) fn set_wakeups(&self) -> State {
        // Ordering: Release publishes the request to the leader that takes the flag. Acquire as in
        // `load`.
        State(self.0.fetch_or(WAKEUPS, Ordering::AcqRel))
    }

    /// Takes the flag `WAKEUPS`. Only the leader may call this, and it then looks at all
    /// participants.
    pub(crate) fn take_wakeups(&self) {
        // Ordering: Acquire pairs with `set_wakeups`: the leader sees every request from before. A
        // later request sets the flag again. No Release: nothing is published here, and an update
        // keeps what earlier ones have published.
        self.0.fetch_and(!WAKEUPS, Ordering::Acquire);
    }
}
