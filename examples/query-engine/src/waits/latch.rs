//! What a blocked worker waits for.

use std::sync::{Condvar, Mutex};

/// A value that one thread sets and one waits for.
#[derive(Debug)]
pub(crate) struct Latch<T> {
    value: Mutex<Option<T>>,
    is_set: Condvar,
}

impl<T> Latch<T> {
    pub(crate) const fn new() -> Self {
        Self {
            value: Mutex::new(None),
            is_set: Condvar::new(),
        }
    }

    pub(crate) fn set(&self, value: T) {
        *self.value.lock().expect("no panic with the lock") = Some(value);
        self.is_set.notify_one();
    }

    /// Waits for the value and takes it.
    pub(crate) fn wait(&self) -> T {
        let mut value = self.value.lock().expect("no panic with the lock");
        loop {
            if let Some(value) = value.take() {
                return value;
            }
            // Liveness: the thread that takes the wait out of the list sets the value, under the
            // lock that this wait releases. That is the worker that answers the query, or the
            // thread that handles deadlocks: the pool reports one if all its workers wait here.
            value = self.is_set.wait(value).expect("no panic with the lock");
        }
    }
}
