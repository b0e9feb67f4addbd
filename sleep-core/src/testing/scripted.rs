//! A parker for tests that go through a protocol step by step in one thread.

use std::{
    boxed::Box,
    cell::{Cell, RefCell},
    thread_local,
};

use crate::Parker;

type Step = Box<dyn FnOnce()>;

thread_local! {
    static IN_PARK: RefCell<Option<Step>> = const { RefCell::new(None) };
    static NOW: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Parks by doing what a test prepared, which must end the wait.
pub(crate) struct Scripted;

impl Scripted {
    /// Prepares what the next [`park`](Parker::park) of this thread does.
    pub(crate) fn prepare(step: impl FnOnce() + 'static) {
        let unused = IN_PARK.replace(Some(Box::new(step)));
        assert!(unused.is_none(), "the step before has not been done");
    }

    /// Asserts that a worker has parked since [`prepare`](Self::prepare).
    pub(crate) fn assert_done() {
        assert!(IN_PARK.take().is_none(), "the worker did not wait");
    }

    /// Moves the clock of this thread on, which stands still otherwise. Before the first call there is none.
    pub(crate) fn advance_clock(microseconds: u64) {
        NOW.set(Some(NOW.get().unwrap_or(1_000) + 1_000 * microseconds));
    }
}

impl Parker for Scripted {
    fn park(&self) {
        let step = IN_PARK.with(RefCell::take);
        step.expect("this worker must not park now")();
    }

    fn unpark(&self) {}

    fn now(&self) -> Option<u64> {
        NOW.get()
    }
}
