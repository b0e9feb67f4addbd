//! A parker for every system.

use std::{mem, sync::PoisonError, time::Duration};

use super::tokens::Token;
use crate::sync::{Condvar, Mutex, lock};

/// A token behind a mutex.
pub(super) struct CondvarToken {
    is_there: Mutex<bool>,
    available: Condvar,
}

impl Token for CondvarToken {
    const NONE: Self = Self {
        is_there: Mutex::new(false),
        available: Condvar::new(),
    };

    fn wait(&self, mut alarm: impl FnMut() -> Option<Duration>) {
        if mem::take(&mut *lock(&self.is_there)) {
            return;
        }
        loop {
            // It may wake threads, even this one. So the mutex is not held.
            let limit = alarm();
            let is_there = lock(&self.is_there);
            // Liveness: `give` changes the token under the mutex, so it cannot do so between our
            // look at it and our wait, and it notifies after that.
            let mut is_there = match limit {
                None => (self.available)
                    .wait_while(is_there, |is_there| !*is_there)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(limit) => {
                    (self.available)
                        .wait_timeout_while(is_there, limit, |is_there| !*is_there)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
            if mem::take(&mut *is_there) {
                return;
            }
        }
    }

    fn give(&self) {
        *lock(&self.is_there) = true;
        self.available.notify_one();
    }
}
