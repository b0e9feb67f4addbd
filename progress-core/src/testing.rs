//! The parker of this crate's tests, real and under loom.

#[cfg(loom)]
use ::loom::{
    sync::{Condvar, Mutex},
    thread,
};
#[cfg(not(loom))]
use std::{
    sync::{Condvar, Mutex},
    thread,
};

use sleep_core::Parker;

pub(crate) struct TestParker {
    token: Mutex<bool>,
    available: Condvar,
}

impl TestParker {
    pub(crate) fn new() -> Self {
        Self {
            token: Mutex::new(false),
            available: Condvar::new(),
        }
    }
}

impl Parker for TestParker {
    fn park(&self) {
        let mut token = self.token.lock().unwrap();
        while !*token {
            token = self.available.wait(token).unwrap();
        }
        *token = false;
    }

    fn unpark(&self) {
        *self.token.lock().unwrap() = true;
        self.available.notify_one();
    }

    fn relax(&self) {
        thread::yield_now();
    }
}
