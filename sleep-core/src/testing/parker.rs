//! The parkers that tests run on.

#[cfg(not(loom))]
use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, Ordering},
    thread_local,
};

use super::{Condvar, Mutex, thread};
use crate::Parker;

/// A parker that tests make.
pub(crate) trait NewParker: Parker + Send + Sync + 'static {
    fn new() -> Self;
}

/// A mutex with a condition variable, real or loom's.
pub(crate) struct TestParker {
    own: Token,
    of_guest: Token,
}

struct Token {
    is_there: Mutex<bool>,
    available: Condvar,
}

impl Token {
    fn new() -> Self {
        Self {
            is_there: Mutex::new(false),
            available: Condvar::new(),
        }
    }

    fn take(&self) {
        let mut is_there = self.is_there.lock().unwrap();
        while !*is_there {
            is_there = self.available.wait(is_there).unwrap();
        }
        *is_there = false;
    }

    fn give(&self) {
        *self.is_there.lock().unwrap() = true;
        self.available.notify_one();
    }
}

impl TestParker {
    pub(crate) fn new() -> Self {
        Self {
            own: Token::new(),
            of_guest: Token::new(),
        }
    }
}

impl NewParker for TestParker {
    fn new() -> Self {
        Self::new()
    }
}

impl Parker for TestParker {
    fn park(&self) {
        self.own.take();
    }

    fn unpark(&self) {
        self.own.give();
    }

    fn relax(&self) {
        thread::yield_now();
    }

    fn park_guest(&self) {
        self.of_guest.take();
    }

    fn unpark_guest(&self) {
        self.of_guest.give();
    }
}

/// Spins until the token is there. It yields, because tests have more workers than processors.
#[cfg(not(loom))]
pub(crate) struct SpinningParker(AtomicBool);

#[cfg(not(loom))]
impl NewParker for SpinningParker {
    fn new() -> Self {
        Self(AtomicBool::new(false))
    }
}

#[cfg(not(loom))]
impl Parker for SpinningParker {
    fn park(&self) {
        // Liveness: ends with the `unpark` that the protocol waits for.
        while !self.0.swap(false, Ordering::Acquire) {
            thread::yield_now();
        }
    }

    fn unpark(&self) {
        self.0.swap(true, Ordering::Release);
    }

    fn relax(&self) {
        thread::yield_now();
    }
}

/// Returns from each park at once, with or without the token, as `WFE` may.
#[cfg(not(loom))]
pub(crate) struct EarlyParker;

#[cfg(not(loom))]
impl NewParker for EarlyParker {
    fn new() -> Self {
        Self
    }
}

#[cfg(not(loom))]
impl Parker for EarlyParker {
    fn park(&self) {
        thread::yield_now();
    }

    fn unpark(&self) {}

    fn relax(&self) {
        thread::yield_now();
    }
}

#[cfg(not(loom))]
thread_local! {
    static WAKES: Cell<usize> = const { Cell::new(0) };
}

/// Counts how often workers are woken, by the threads that wake them: so no line is shared for it.
#[cfg(not(loom))]
pub(crate) struct Counting<P>(P);

#[cfg(not(loom))]
impl<P: NewParker> NewParker for Counting<P> {
    fn new() -> Self {
        Self(P::new())
    }
}

#[cfg(not(loom))]
impl<P: Parker> Parker for Counting<P> {
    fn park(&self) {
        self.0.park();
    }

    fn unpark(&self) {
        WAKES.set(WAKES.get() + 1);
        self.0.unpark();
    }

    fn relax(&self) {
        self.0.relax();
    }

    fn now(&self) -> Option<u64> {
        self.0.now()
    }

    fn park_guest(&self) {
        self.0.park_guest();
    }

    fn unpark_guest(&self) {
        self.0.unpark_guest();
    }
}

/// Returns how many workers this thread has woken by [`Counting`] parkers since it was asked last.
#[cfg(not(loom))]
pub(crate) fn take_wakes() -> usize {
    WAKES.take()
}
