//! Operations outside a managed thread's queue: before they are scheduled, and when they are due.
//!
//! [`ManagedThread::schedule`] and [`ManagedThread::run_reached`] need the thread for themselves. A
//! thread that must be usable while an operation is scheduled or run, such as a pool's worker,
//! collects operations in [`Operations`] and takes each one that is due out before it runs it.

use core::{fmt, mem, ptr::NonNull};

use crate::{
    Domain, ManagedThread,
    operation::{Header, IntoOperation, Queue, run},
};

/// Operations that are not scheduled yet, in their order.
///
/// They must be [scheduled](ManagedThread::schedule_all) in the end: those that are dropped are
/// leaked and never run, since other threads may still be reading.
#[derive(Default)]
pub struct Operations {
    queue: Queue,
}

impl Operations {
    /// Creates an empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            queue: Queue::new(),
        }
    }

    /// Adds an operation at the end.
    pub fn push(&mut self, operation: impl IntoOperation) {
        // The value is written when the operation is scheduled.
        self.queue.push(operation.into_header(), 0);
    }

    /// Returns the number of operations.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operations")
            .field("len", &self.len())
            .finish()
    }
}

/// An operation whose time has come, out of its thread's queue.
///
/// Runs when it is dropped, too: each operation is run exactly once.
pub struct DueOperation {
    header: NonNull<Header>,
}

impl DueOperation {
    /// Runs the operation.
    pub fn run(self) {
        let header = self.header;
        mem::forget(self);
        run(header);
    }
}

impl Drop for DueOperation {
    fn drop(&mut self) {
        run(self.header);
    }
}

impl fmt::Debug for DueOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DueOperation").finish_non_exhaustive()
    }
}

impl<D: Domain> ManagedThread<'_, D> {
    /// Schedules operations in their order, all for the same moment: one full fence for all of
    /// them. See [`schedule`](Self::schedule).
    pub fn schedule_all(&mut self, mut operations: Operations) {
        if operations.is_empty() {
            return;
        }
        self.seal();
        let value = self.progress().later().raw;
        self.operations.append(&mut operations.queue, value);
    }

    /// Takes out the first operation whose time has come, so that the caller runs it while this
    /// thread can be used. See [`run_limit`](Self::run_limit).
    pub fn take_due(&mut self) -> Option<DueOperation> {
        self.adopt_due();
        self.seal();
        let current = self.progress().current();
        let header = self
            .ready
            .pop()
            .or_else(|| self.operations.pop_reached(current))?;
        Some(DueOperation { header })
    }

    /// Returns how many operations a thread should run at a time: 50 and a half of those pending.
    ///
    /// So a thread keeps up with any number of operations that it schedules between two calls: when
    /// those are pending, which are not due yet, and as many are due from before the last call, it
    /// runs all of these. With an eighth it would collect six times as many first.
    #[must_use]
    pub fn run_limit(&self) -> usize {
        50 + self.pending() / 2
    }
}
