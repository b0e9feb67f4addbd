//! A parker for tests that go through a protocol step by step in one thread.

use std::{
    boxed::Box,
    cell::{Cell, RefCell},
    thread_local,
};

use crate::{CoreLatch, Parker, SleepProtocol};

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

/// Counts the searches of a worker until it has looked for the last time. `has_work` is what it sees then. If that is
/// none, it sleeps, and what the test has prepared wakes it.
pub(crate) fn searches_until_last_look<S: SleepProtocol>(
    sleep: &S,
    idle: &mut S::IdleState,
    has_work: bool,
) -> u32 {
    let (mut searches, mut has_looked) = (0, false);
    while !has_looked {
        searches += 1;
        sleep.no_work_found(idle, &CoreLatch::new(), || {
            has_looked = true;
            has_work
        });
    }
    if !has_work {
        Scripted::assert_done();
    }
    searches
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
