//! The queues of pools without an allocator.

// loom's `thread_local` takes no constants.
#![allow(clippy::missing_const_for_thread_local)]

#[cfg(not(loom))]
use std::thread_local;
use std::{
    cell::Cell,
    ptr::{self, NonNull},
};

#[cfg(loom)]
use ::loom::thread_local;

use deque_core::{Node, Steal};

#[cfg(not(loom))]
use super::{Event, observed};
use crate::{JobInjector, JobQueue, JobRef};

thread_local! {
    /// A queue (null: each) that answers `Retry` until this thread has relaxed so often, as if
    /// another thread were in the middle of an operation and needed the processor.
    pub(crate) static BUSY: Cell<(*const TestQueue, u32)> = Cell::new((ptr::null(), 0));
    static RETRIES: Cell<u32> = Cell::new(0);
}

/// The queue of pools without an allocator, which a test can make busy.
pub(crate) struct TestQueue {
    jobs: JobInjector,
    /// Whether looks at it are events.
    #[cfg_attr(loom, expect(dead_code, reason = "models observe nothing"))]
    is_observed: bool,
}

impl TestQueue {
    pub(super) fn new() -> Self {
        Self {
            jobs: JobInjector::new(),
            is_observed: true,
        }
    }

    /// Creates a queue for jobs with a priority, at which workers look at other times than at the
    /// injector.
    pub(super) fn unobserved() -> Self {
        Self {
            is_observed: false,
            ..Self::new()
        }
    }
}

// SAFETY: 1. to 4. as for the queue within. The assertion fails only on a worker without jobs.
unsafe impl JobQueue for TestQueue {
    type Node = Node<Option<JobRef>>;

    fn node() -> Self::Node {
        Node::new(None)
    }

    unsafe fn push(&self, node: NonNull<Self::Node>, job: JobRef) {
        // SAFETY: 1. is forwarded to our caller.
        unsafe { JobQueue::push(&self.jobs, node, job) };
    }

    fn steal(&self) -> Steal<JobRef> {
        #[cfg(not(loom))]
        observed(Event::Take);
        let (queue, times) = BUSY.with(Cell::get);
        if times == 0 || !(queue.is_null() || ptr::eq(self, queue)) {
            return JobQueue::steal(&self.jobs);
        }
        let retries = RETRIES.with(Cell::get) + 1;
        RETRIES.with(|count| count.set(retries));
        assert!(
            retries < 100_000,
            "a worker spins and lets no other thread run"
        );
        Steal::Retry
    }

    fn is_empty(&self) -> bool {
        #[cfg(not(loom))]
        if self.is_observed {
            observed(Event::Look);
        }
        JobQueue::is_empty(&self.jobs)
    }
}
