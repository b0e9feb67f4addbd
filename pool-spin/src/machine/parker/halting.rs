//! The state of a parker that halts its core: whom to interrupt.

use core::fmt;

use crate::primitive::{AtomicUsize, Ordering};

/// Nobody waits, and there is no token.
const EMPTY: usize = 0;
/// The token is there.
const TOKEN: usize = 1;
/// The worker halts, or is about to: the number of its core and this.
const HALTED: usize = 2;

/// A token and, while its owner halts, the owner's core, in one word: who gives the token learns
/// whom to interrupt, and interrupts nobody who runs.
pub(super) struct State(AtomicUsize);

impl State {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self(AtomicUsize::new(EMPTY))
        }
    }

    /// The owner is about to halt, on this core. False if there is a token, which is left.
    pub(super) fn announce_halt(&self, core: usize) -> bool {
        // Ordering: Relaxed: nothing is handed over by the announcement, and a token is received
        // by `take`.
        self.0
            .compare_exchange(EMPTY, HALTED + core, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether there is a token.
    pub(super) fn has_token(&self) -> bool {
        // Ordering: Relaxed, `take` receives.
        self.0.load(Ordering::Relaxed) == TOKEN
    }

    /// Takes the token, and what whoever gave it last wrote before.
    pub(super) fn take(&self) {
        // Ordering: Acquire pairs with `give`. An exchange, not a store: a second giver may have
        // come meanwhile, and its token goes with the first, so what it wrote must be
        // received too.
        self.0.swap(EMPTY, Ordering::Acquire);
    }

    /// Gives the token. The core to interrupt, if its owner halts.
    pub(super) fn give(&self) -> Option<usize> {
        // Ordering: Release pairs with `take`.
        self.0.swap(TOKEN, Ordering::Release).checked_sub(HALTED)
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        match self.0.load(Ordering::Relaxed) {
            EMPTY => f.write_str("empty"),
            TOKEN => f.write_str("token"),
            core => write!(f, "halted on core {}", core - HALTED),
        }
    }
}
