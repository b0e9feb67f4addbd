//! Workers that wait for what the pool does not know of.

mod raw_mutex;

use pool_core::accounting::{Accounting, Report, WorkerEntry};

use self::raw_mutex::RawOsMutex;

/// Is told of a deadlock.
pub(crate) type DeadlockHandler = dyn Fn(&Report<'_>) + Send + Sync;

/// The accounting of a pool's blocked workers.
pub(crate) type PoolAccounting =
    Accounting<RawOsMutex, Box<[WorkerEntry]>, Option<Box<DeadlockHandler>>>;

/// Creates the accounting of workers whose threads are going to be started.
pub(crate) fn accounting(
    num_threads: usize,
    handler: Option<Box<DeadlockHandler>>,
) -> PoolAccounting {
    let entries = (0..num_threads).map(|_| WorkerEntry::new()).collect();
    let accounting = PoolAccounting::new(entries, handler);
    for index in 0..num_threads {
        let worker = pool_core::WorkerIndex::new(index, num_threads).expect("counted");
        accounting.arrive(worker);
    }
    accounting
}
