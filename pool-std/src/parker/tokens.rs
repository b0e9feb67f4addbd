//! The tokens that a thread waits for in its parker.

use std::{sync::Arc, time::Duration};

use super::duties;
use crate::thread_pool::crowd::Crowd;

/// What one thread waits for, and others give.
pub(super) trait Token {
    /// The token has not been given.
    const NONE: Self;

    /// Waits until the token has been given, and takes it. Before each sleep, `alarm` does what is
    /// due by now, and returns for how long the thread may sleep at most.
    fn wait(&self, alarm: impl FnMut() -> Option<Duration>);

    /// Gives the token. Giving it twice is the same as giving it once.
    fn give(&self);
}

/// The token of a worker, and that of its guest, which sleeps beside it.
pub(super) struct Tokens<T> {
    own: T,
    guest: T,
    /// The pool of which the worker may be the watchdog.
    crowd: Option<Arc<Crowd>>,
}

impl<T: Token> Tokens<T> {
    pub(super) const fn new(crowd: Option<Arc<Crowd>>) -> Self {
        Self {
            own: T::NONE,
            guest: T::NONE,
            crowd,
        }
    }

    pub(super) fn park(&self) {
        self.own.wait(duties::alarm(self.crowd.as_deref()));
    }

    pub(super) fn unpark(&self) {
        self.own.give();
    }

    pub(super) fn park_guest(&self) {
        self.guest.wait(duties::alarm(None));
    }

    pub(super) fn unpark_guest(&self) {
        self.guest.give();
    }
}
