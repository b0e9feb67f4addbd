//! What the owner of a handle leaves to be notified when the job is done.

use std::{
    sync::{Arc, PoisonError},
    task::Waker,
    time::Duration,
};

use crate::{
    driver::Signal,
    sync::{Condvar, Mutex, lock},
};

/// What the owner of a handle leaves to be notified when the job is done.
pub(super) enum Waiter {
    /// A thread that waits without a time limit.
    Thread(Signal),
    /// A thread that waits for a limited time.
    Timed(Arc<Bell>),
    /// A future.
    Task(Waker),
}

impl Waiter {
    /// Notifies the waiter. A waker is code of the user, which may panic.
    pub(super) fn wake(self) {
        match self {
            Self::Thread(signal) => signal.set(),
            Self::Timed(bell) => bell.ring(),
            Self::Task(waker) => waker.wake(),
        }
    }
}

/// Rings once.
#[derive(Default)]
pub(super) struct Bell {
    has_rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    fn ring(&self) {
        *lock(&self.has_rung) = true;
        self.rings.notify_one();
    }

    /// Waits until it rings, but no longer than this.
    pub(super) fn wait_for(&self, limit: Duration) {
        let has_rung = lock(&self.has_rung);
        // Liveness: the thread that has the bell rings, and the time ends.
        let waited = self
            .rings
            .wait_timeout_while(has_rung, limit, |has_rung| !*has_rung);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}
