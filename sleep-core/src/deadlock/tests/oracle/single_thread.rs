//! A parker and a lock for one thread that plays all.

use std::{boxed::Box, cell::Cell, panic::resume_unwind};

use crate::{
    Parker,
    deadlock::{GuardNoSend, RawMutex},
};

/// What a worker unwinds with that parks.
pub(super) struct Parked;

pub(super) struct Recorder {
    pub(super) has_token: Cell<bool>,
}

impl Parker for Recorder {
    fn park(&self) {
        if !self.has_token.take() {
            resume_unwind(Box::new(Parked));
        }
    }

    fn unpark(&self) {
        self.has_token.set(true);
    }
}

/// A lock for one thread, which ends the test where a thread would wait for itself.
pub(super) struct SingleThread(Cell<bool>);

// SAFETY: it does not go from thread to thread, and a second lock fails.
unsafe impl RawMutex for SingleThread {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self(Cell::new(false));
    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        assert!(
            self.try_lock(),
            "the accounting is called with its lock held"
        );
    }

    fn try_lock(&self) -> bool {
        !self.0.replace(true)
    }

    unsafe fn unlock(&self) {
        self.0.set(false);
    }
}
