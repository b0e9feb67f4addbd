//! The word that every thread reads.

use crate::moment::STEP;
use sleep_primitives::{AtomicWord, Ordering, RawWord};

/// How far progress has come, and what threads must look after: one load tells both.
#[derive(Clone, Copy)]
pub(crate) struct State(RawWord);

/// A thread blocks the others.
const BLOCKED: RawWord = 0b010;
/// A line may have a value at which its thread is to be woken.
const WAKEUPS: RawWord = 0b100;

const _: () = assert!(BLOCKED | WAKEUPS | 1 == STEP - 1);

impl State {
    /// The value that all threads have confirmed.
    #[inline]
    pub(crate) const fn value(self) -> RawWord {
        self.0 & !(BLOCKED | WAKEUPS)
    }

    /// Whether progress has come to this value, no further, and nothing asks for attention.
    #[inline]
    pub(crate) const fn is_quiet_at(self, value: RawWord) -> bool {
        self.0 == value
    }

    /// Whether a thread blocks the others.
    #[inline]
    pub(crate) const fn is_blocked(self) -> bool {
        self.0 & BLOCKED != 0
    }

    /// Whether a line may have a value at which its thread is to be woken.
    #[inline]
    pub(crate) const fn has_wakeups(self) -> bool {
        self.0 & WAKEUPS != 0
    }

    /// Whether there is something that a thread which goes to wait must look after.
    #[inline]
    pub(crate) const fn has_pending(self) -> bool {
        self.0 & (BLOCKED | WAKEUPS) != 0
    }
}

/// Where the [`State`] is kept.
pub(crate) struct SharedState(AtomicWord);

impl SharedState {
    const_unless_loom! {
        pub(crate) fn new(value: RawWord) -> Self {
            Self(AtomicWord::new(value))
        }
    }

    #[inline]
    pub(crate) fn load(&self) -> State {
        // Ordering: Acquire pairs with `advance`: what all threads did before they confirmed lies
        // before what follows here, as freeing; and with `unblock`: what the blocker did is seen by
        // whom it lets go on. That the bits are seen in time is due to fences of the caller.
        State(self.0.load(Ordering::Acquire))
    }

    /// Only by the leader.
    pub(crate) fn leaders_value(&self) -> RawWord {
        // Ordering: Relaxed, only leaders change the value.
        State(self.0.load(Ordering::Relaxed)).value()
    }

    /// To the next value. Only by the leader.
    pub(crate) fn advance(&self) {
        // Ordering: Release hands on what the leader received, to whoever loads the value.
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

    /// A line wants a value, or an operation waits for one. Returns the state before.
    pub(crate) fn set_wakeups(&self) -> State {
        // Ordering: Release publishes the wish to the leader that takes the bit. Acquire as in
        // `load`.
        State(self.0.fetch_or(WAKEUPS, Ordering::AcqRel))
    }

    /// Only by the leader, who then looks at all lines.
    pub(crate) fn take_wakeups(&self) {
        // Ordering: Acquire pairs with `set_wakeups`: whoever asked before is seen from now on.
        // Whoever asks after that sets the bit again. Release keeps what earlier ones published.
        self.0.fetch_and(!WAKEUPS, Ordering::AcqRel);
    }
}
