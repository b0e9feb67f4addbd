//! The pool's part of a wait: workers that are marked as blocked, and reports when none is active.

use std::sync::mpsc::{self, Receiver, Sender};

pub(crate) use pool_std::{Blocked, MarkError, mark_blocked};
use pool_std::{DeadlockReport, ThreadPoolBuilder};

/// Reports of deadlocks, for a thread that is not a worker.
#[derive(Debug)]
pub(crate) struct Reports(Receiver<Option<DeadlockReport>>);

/// Ends the reports when it is dropped.
#[derive(Debug)]
pub(crate) struct Closer(Sender<Option<DeadlockReport>>);

/// Sets the deadlock handler of a pool.
///
/// The handler runs under the lock of the pool's accounting, so it must not unmark a worker, and
/// passes the report on.
pub(crate) fn report_deadlocks(builder: ThreadPoolBuilder) -> (ThreadPoolBuilder, Reports, Closer) {
    let (sender, receiver) = mpsc::channel();
    let closer = Closer(sender.clone());
    let builder = builder.deadlock_handler(move |report| {
        // After the end there are no waits, so there is no deadlock to resolve.
        _ = sender.send(Some(report.clone()));
    });
    (builder, Reports(receiver), closer)
}

/// Marks workers as active again, before they are woken.
pub(crate) fn unmark(blocked: impl IntoIterator<Item = Blocked>) {
    let result = pool_std::mark_all_unblocked(blocked);
    debug_assert_eq!(result, Ok(()), "each wait is ended once");
}

impl Reports {
    /// Waits for the next report. Returns None when the closer was dropped.
    pub(crate) fn next(&self) -> Option<DeadlockReport> {
        // Liveness: the closer's drop sends too.
        self.0.recv().ok().flatten()
    }
}

impl Drop for Closer {
    fn drop(&mut self) {
        // If the receiver is gone, so is the thread that waits.
        _ = self.0.send(None);
    }
}
