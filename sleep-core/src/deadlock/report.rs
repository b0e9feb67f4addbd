//! The handler of a deadlock, and the report that it receives.

use core::fmt;

use super::{State, Ticket, WorkerEntry};
use crate::index::WorkerIndex;

/// Receives the report of a deadlock. Implemented for functions, for an `Option` of a handler, and
/// by [`NoHandler`].
///
/// # Examples
/// ```
/// use sleep_core::deadlock::{DeadlockHandler, NoHandler, Report};
///
/// fn print(report: &Report<'_>) {
///     println!("{report}");
/// }
/// assert!(print.is_set());
/// assert!(!NoHandler.is_set());
/// assert!(!None::<fn(&Report<'_>)>.is_set());
/// ```
pub trait DeadlockHandler {
    /// Whether there is a handler. If not, the accounting of sleeping workers does nothing, and
    /// takes no lock. Must always return the same.
    #[inline]
    fn is_set(&self) -> bool {
        true
    }

    /// Handles a deadlock: usually, tells another thread.
    ///
    /// Called by the thread that completed the deadlock, with the lock of the accounting held: by a
    /// worker, or by a thread outside in [`end_outside`](super::Accounting::end_outside). So it
    /// must not mark or unmark a worker, or wait for a thread that does: that thread and all
    /// workers of the pool would wait forever. It must not panic.
    fn handle(&self, report: &Report<'_>);
}

impl<F: Fn(&Report<'_>)> DeadlockHandler for F {
    fn handle(&self, report: &Report<'_>) {
        self(report);
    }
}

impl<H: DeadlockHandler> DeadlockHandler for Option<H> {
    #[inline]
    fn is_set(&self) -> bool {
        self.as_ref().is_some_and(DeadlockHandler::is_set)
    }

    fn handle(&self, report: &Report<'_>) {
        if let Some(handler) = self {
            handler.handle(report);
        }
    }
}

/// The absence of a handler, known when the program is compiled.
///
/// # Examples
/// See the front page of [this module](crate::deadlock), with a handler.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHandler;

impl DeadlockHandler for NoHandler {
    #[inline]
    fn is_set(&self) -> bool {
        false
    }

    fn handle(&self, _report: &Report<'_>) {}
}

/// What every worker is doing at the moment of a deadlock. Printed as one line.
///
/// # Examples
/// See the front page of [this module](crate::deadlock).
pub struct Report<'a> {
    workers: &'a [WorkerEntry],
}

impl<'a> Report<'a> {
    pub(super) fn new(workers: &'a [WorkerEntry]) -> Self {
        Self { workers }
    }

    /// Returns the number of workers.
    #[must_use]
    pub fn num_workers(&self) -> usize {
        self.workers.len()
    }

    /// Returns each worker and what it is doing, in the order of their numbers.
    pub fn states(&self) -> impl Iterator<Item = (WorkerIndex, State)> + 'a {
        let workers = self.workers;
        workers.iter().enumerate().map(|(index, entry)| {
            let worker = WorkerIndex::new(index, workers.len()).expect("counted");
            (worker, entry.state())
        })
    }

    /// Returns the blocked sections, for the thread that will end one of them.
    pub fn blocked(&self) -> impl Iterator<Item = Ticket> + 'a {
        let workers = self.workers;
        self.states()
            .filter(|(_, state)| *state == State::Blocked)
            .map(|(worker, _)| Ticket::new(worker, workers[worker.get()].episode()))
    }

    /// Returns the number of blocked workers.
    #[must_use]
    pub fn num_blocked(&self) -> usize {
        self.count(State::Blocked)
    }

    /// Returns the number of sleeping workers.
    #[must_use]
    pub fn num_asleep(&self) -> usize {
        self.count(State::Asleep)
    }

    fn count(&self, wanted: State) -> usize {
        self.states().filter(|(_, state)| *state == wanted).count()
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "deadlock: of {} workers {} are blocked and {} asleep; blocked:",
            self.num_workers(),
            self.num_blocked(),
            self.num_asleep()
        )?;
        for ticket in self.blocked() {
            write!(f, " {}", ticket.worker().get())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.states().map(|(_, state)| state))
            .finish()
    }
}
