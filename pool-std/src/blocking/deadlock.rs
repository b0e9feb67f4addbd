//! From the report of the accounting to the handler of the user.

use std::sync::{
    Weak,
    atomic::{AtomicUsize, Ordering},
};

use pool_core::{
    WorkerIndex,
    accounting::{Accounting, Report, Ticket, WorkerEntry},
};

use crate::{
    blocking::{
        handlers::{DeadlockHandler, call_handler},
        mutex::{OsMutex, this_thread},
        report::DeadlockReport,
        state::PoolState,
    },
    fork, log,
    panics::drop_quietly,
    platform::Registry,
    worker::frames,
};

/// The accounting of a pool's workers.
pub(crate) type PoolAccounting = Accounting<OsMutex, Box<[WorkerEntry]>, Reporter>;

/// Creates the accounting of workers whose threads are going to be started.
pub(crate) fn accounting(num_threads: usize, reporter: Reporter) -> PoolAccounting {
    let entries = (0..num_threads).map(|_| WorkerEntry::new()).collect();
    let accounting = PoolAccounting::new(entries, reporter);
    for index in 0..num_threads {
        accounting.arrive(WorkerIndex::new(index, num_threads).expect("counted"));
    }
    accounting
}

/// Gives the accounting's reports, with labels, to the user's handler.
pub(crate) struct Reporter {
    handler: Option<Box<DeadlockHandler>>,
    registry: Weak<Registry>,
}

impl Reporter {
    pub(crate) fn new(handler: Option<Box<DeadlockHandler>>, registry: &Weak<Registry>) -> Self {
        Self {
            handler,
            registry: registry.clone(),
        }
    }
}

impl pool_core::accounting::DeadlockHandler for Reporter {
    fn is_set(&self) -> bool {
        self.handler.is_some()
    }

    fn handle(&self, report: &Report<'_>) {
        // While a worker is blocked, its registry is alive.
        let (Some(handler), Some(registry)) = (&self.handler, self.registry.upgrade()) else {
            return;
        };
        if !fork::is_own_process(&registry) {
            // None of the other workers is in this child, which the thread is about to learn.
            return;
        }
        let states: Vec<_> = report.states().collect();
        let tickets: Vec<_> = report.blocked().collect();
        let episode_of = |index: usize| {
            let of_worker = |ticket: &&Ticket| ticket.worker().get() == index;
            tickets
                .iter()
                .find(of_worker)
                .map(|ticket| ticket.episode())
        };
        let state = PoolState::of(&registry, |index| (states[index].1, episode_of(index)));
        let report = DeadlockReport::new(state);
        let message = "pool-std: the deadlock handler panicked; aborting";
        let call = || {
            call_handler(message, || {
                frames::in_handler_of(&registry, || {
                    log::deadlock(&report);
                    handler(&report);
                });
            });
        };
        registry.data().reporting.here(call);
    }
}

/// Which thread is in the deadlock handler of a pool.
///
/// Only one is, because the handler runs under the lock of the accounting.
#[derive(Default)]
pub(crate) struct Reporting {
    /// The thread that is in the handler, as a number from [`this_thread`], or 0.
    thread: AtomicUsize,
}

impl Reporting {
    /// Whether the calling thread is in the handler.
    pub(crate) fn is_here(&self) -> bool {
        // Ordering: Relaxed; only this thread writes its own number here, and takes it away again.
        self.thread.load(Ordering::Relaxed) == this_thread()
    }

    /// Runs a closure that calls the handler, and does not panic.
    fn here(&self, closure: impl FnOnce()) {
        // Ordering: Relaxed, see `is_here`.
        self.thread.store(this_thread(), Ordering::Relaxed);
        closure();
        // Ordering: Relaxed, see `is_here`.
        self.thread.store(0, Ordering::Relaxed);
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        drop_quietly(self.handler.take());
    }
}
