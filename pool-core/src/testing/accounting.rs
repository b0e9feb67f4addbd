//! The accounting of blocked workers on test platforms.

#[cfg(not(loom))]
use std::sync::{Mutex, MutexGuard};
use std::{
    boxed::Box,
    cell::UnsafeCell,
    sync::{Arc, OnceLock},
};

#[cfg(loom)]
use ::loom::sync::{Mutex, MutexGuard};
use sleep_core::{
    WorkerIndex,
    deadlock::{Accounting, GuardNoSend, RawMutex, Report, WorkerEntry},
};

use super::{Accounted, TestDetection, TestProtocol, TestStorage, registry_with};
use crate::Registry;

pub(crate) type TestHandler = Box<dyn Fn(&Report<'_>) + Send + Sync>;

pub(crate) type TestAccounting = Accounting<TestRawMutex, Box<[WorkerEntry]>, Option<TestHandler>>;

impl TestDetection for TestAccounting {
    fn new(workers: usize) -> Self {
        accounting(workers, None)
    }
}

pub(crate) fn accounting(workers: usize, handler: Option<TestHandler>) -> TestAccounting {
    let entries = (0..workers).map(|_| WorkerEntry::new()).collect();
    let accounting = Accounting::new(entries, handler);
    for index in 0..workers {
        accounting.arrive(WorkerIndex::new(index, workers).unwrap());
    }
    accounting
}

/// Creates a pool without threads that reports deadlocks.
pub(crate) fn accounted<K: TestProtocol>(
    workers: usize,
    handler: impl Fn(&Report<'_>) + Send + Sync + 'static,
) -> Arc<Registry<Accounted<K>>> {
    let detection = accounting(workers, Some(Box::new(handler)));
    registry_with(workers, TestStorage::deque, detection)
}

/// The lock of the accounting: in a model, one that loom follows.
pub(crate) struct TestRawMutex {
    /// Made when it is first locked, since loom makes no mutex in a constant.
    mutex: OnceLock<Box<Mutex<()>>>,
    /// Of the thread that has the lock.
    guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
}

// SAFETY: only the thread that has the lock touches the guard.
unsafe impl Sync for TestRawMutex {}
// SAFETY: a mutex that is moved is not locked.
unsafe impl Send for TestRawMutex {}

// SAFETY: it locks a mutex, and keeps the guard until the unlock.
unsafe impl RawMutex for TestRawMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self {
        mutex: OnceLock::new(),
        guard: UnsafeCell::new(None),
    };
    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        let mutex: *const Mutex<()> = &**self.mutex.get_or_init(|| Box::new(Mutex::new(())));
        // SAFETY: the guard lives until the unlock, and a mutex that is locked is not dropped; the
        // box stays where it is. We have the lock then, so the cell is ours.
        unsafe { *self.guard.get() = Some((*mutex).lock().unwrap()) };
    }

    fn try_lock(&self) -> bool {
        self.lock();
        true
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller has the lock.
        drop(unsafe { (*self.guard.get()).take() });
    }
}
