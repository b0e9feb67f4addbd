//! The parkers of workers, and of threads that wait outside: mutex and condition variable.

// loom's `thread_local` takes no constants.
#![allow(clippy::missing_const_for_thread_local)]

use std::{cell::Cell, sync::Arc};
#[cfg(not(loom))]
use std::{
    sync::{Condvar, Mutex},
    thread, thread_local,
};

#[cfg(loom)]
use ::loom::{
    sync::{Condvar, Mutex},
    thread, thread_local,
};

use sleep_core::Parker;

use super::BUSY;
#[cfg(not(loom))]
use super::{Event, observed};
use crate::Waiter;

thread_local! {
    static WAITER: Arc<TestParker> = Arc::new(TestParker::new());
    /// This thread breaks a waiter's promise.
    pub(crate) static PARK_PANICS: Cell<bool> = Cell::new(false);
}

pub(crate) struct TestParker {
    token: Mutex<bool>,
    available: Condvar,
    is_parked: Mutex<bool>,
    /// The token of a guest, which sleeps while the worker's own thread does.
    guest_token: Mutex<bool>,
    guest_available: Condvar,
}

impl TestParker {
    pub(crate) fn new() -> Self {
        Self {
            token: Mutex::new(false),
            available: Condvar::new(),
            is_parked: Mutex::new(false),
            guest_token: Mutex::new(false),
            guest_available: Condvar::new(),
        }
    }

    /// Whether a thread has parked and not returned. What it did before is visible.
    #[cfg(loom)]
    pub(crate) fn is_parked(&self) -> bool {
        *self.is_parked.lock().unwrap()
    }
}

impl Parker for TestParker {
    fn park(&self) {
        #[cfg(not(loom))]
        observed(Event::Park);
        *self.is_parked.lock().unwrap() = true;
        let mut token = self.token.lock().unwrap();
        while !*token {
            token = self.available.wait(token).unwrap();
        }
        *token = false;
        *self.is_parked.lock().unwrap() = false;
    }

    fn unpark(&self) {
        #[cfg(not(loom))]
        observed(Event::Unpark);
        *self.token.lock().unwrap() = true;
        self.available.notify_one();
    }

    fn park_guest(&self) {
        let mut token = self.guest_token.lock().unwrap();
        while !*token {
            token = self.guest_available.wait(token).unwrap();
        }
        *token = false;
    }

    fn unpark_guest(&self) {
        *self.guest_token.lock().unwrap() = true;
        self.guest_available.notify_one();
    }

    fn relax(&self) {
        BUSY.with(|busy| {
            let (queue, times) = busy.get();
            busy.set((queue, times.saturating_sub(1)));
        });
        thread::yield_now();
    }
}

/// Not the thread's own park token: loom does not interleave anything with that.
pub(crate) struct TestWaiter(Arc<TestParker>);

impl Waiter for TestWaiter {
    fn current() -> Self {
        Self(WAITER.with(Arc::clone))
    }

    fn park() {
        assert!(!PARK_PANICS.with(Cell::get), "a waiter that panics");
        WAITER.with(|waiter| waiter.park());
    }

    fn unpark(self) {
        self.0.unpark();
    }
}
