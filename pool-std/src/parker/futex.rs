//! A parker for systems on which a thread can wait for a word: no system call unless a thread
//! sleeps.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use super::tokens::Token;
use crate::system::{futex_wait, futex_wake_one};

/// No thread waits, and there is no token.
const EMPTY: u32 = 0;
/// The token is there.
const TOKEN: u32 = 1;
/// The worker sleeps, or is about to.
const WAITING: u32 = u32::MAX;

/// A token in a futex word.
pub(super) struct FutexToken {
    state: AtomicU32,
}

impl Token for FutexToken {
    const NONE: Self = Self {
        state: AtomicU32::new(EMPTY),
    };

    fn wait(&self, mut alarm: impl FnMut() -> Option<Duration>) {
        // From TOKEN to EMPTY, or from EMPTY to WAITING.
        //
        // Ordering: Acquire pairs with `give`: what its caller wrote is visible. The same holds
        // for the exchange below.
        if self.state.fetch_sub(1, Ordering::Acquire) == TOKEN {
            return;
        }
        loop {
            // A `give` that comes meanwhile leaves its token.
            let limit = alarm();
            // Liveness: the system compares the word with WAITING before it puts us to sleep, so
            // a `give` that comes first makes this return; one that comes later finds WAITING
            // and wakes us. Errors (the word has changed, a signal, the time is over) mean that we
            // look again.
            futex_wait(&self.state, WAITING, limit);
            if self
                .state
                .compare_exchange(TOKEN, EMPTY, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    fn give(&self) {
        // Ordering: Release pairs with `wait`.
        if self.state.swap(TOKEN, Ordering::Release) == WAITING {
            // The worker is the only thread that ever sleeps on this word.
            futex_wake_one(&self.state);
        }
    }
}
