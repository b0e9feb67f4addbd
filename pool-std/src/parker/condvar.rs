//! A parker for every system.

use std::sync::{Condvar, Mutex, PoisonError};

use pool_core::Parker;

/// A token behind a mutex.
pub(crate) struct CondvarParker {
    token: Mutex<bool>,
    available: Condvar,
}

impl CondvarParker {
    pub(crate) const fn new() -> Self {
        Self {
            token: Mutex::new(false),
            available: Condvar::new(),
        }
    }
}

impl Parker for CondvarParker {
    fn park(&self) {
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        // Liveness: `unpark` changes the token under the mutex, so it cannot do so between our
        // look at it and our wait, and it notifies after that.
        let mut token = self
            .available
            .wait_while(token, |token| !*token)
            .unwrap_or_else(PoisonError::into_inner);
        *token = false;
    }

    fn unpark(&self) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.available.notify_one();
    }
}
