//! The handlers that a pool calls when threads stop and start being runnable, and when it has come
//! to a deadlock.

use std::{cell::Cell, ptr};

use pool_core::Platform as _;

use crate::{
    blocking::report::DeadlockReport,
    fork,
    panics::{AbortOnUnwind, drop_quietly},
    platform::{Std, WorkerThread},
    worker::frames,
};

/// Called with a report, under the lock of the accounting.
pub(crate) type DeadlockHandler = dyn Fn(&DeadlockReport) + Send + Sync;
/// Called by the thread itself that stops or starts being runnable.
pub(crate) type ThreadHandler = dyn Fn() + Send + Sync;

/// What a pool calls when a thread stops and starts being runnable.
#[derive(Default)]
pub(crate) struct ThreadHandlers {
    pub(crate) acquire: Option<Box<ThreadHandler>>,
    pub(crate) release: Option<Box<ThreadHandler>>,
    /// Whether threads outside that wait for the pool call the handlers too.
    pub(crate) for_callers: bool,
}

impl ThreadHandlers {
    /// Whether there are none.
    pub(crate) fn are_none(&self) -> bool {
        self.acquire.is_none() && self.release.is_none()
    }

    /// Reports that this thread runs from now on.
    pub(crate) fn acquire(&self) {
        if let Some(handler) = self.acquire.as_ref().filter(|_| !IS_ADOPTION.get()) {
            let message = "pool-std: the acquire handler panicked; aborting";
            while_unregistered(|| call_handler(message, handler));
        }
    }

    /// Reports that this thread is about to wait.
    pub(crate) fn release(&self) {
        if let Some(handler) = self.release.as_ref().filter(|_| !IS_ADOPTION.get()) {
            let message = "pool-std: the release handler panicked; aborting";
            while_unregistered(|| call_handler(message, handler));
        }
    }

    /// Runs a closure in which this thread, which is outside the pool, waits for it.
    pub(crate) fn around_wait<R>(&self, wait: impl FnOnce() -> R) -> R {
        // While a thread lends its worker, the thread that is the worker answers for both.
        if !self.for_callers || frames::is_lending() {
            return wait();
        }
        self.release();
        let result = wait();
        self.acquire();
        result
    }
}

impl Drop for ThreadHandlers {
    fn drop(&mut self) {
        drop_quietly(self.acquire.take());
        drop_quietly(self.release.take());
    }
}

thread_local! {
    /// Whether this thread is in a handler.
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
    /// Whether this thread is being adopted, or the reverse.
    static IS_ADOPTION: Cell<bool> = const { Cell::new(false) };
}

/// Runs a closure in which this thread, which is runnable before and afterwards, becomes a worker
/// or ceases to be one. It calls no acquire or release handler.
pub(crate) fn during_adoption<R>(closure: impl FnOnce() -> R) -> R {
    IS_ADOPTION.set(true);
    let result = closure();
    IS_ADOPTION.set(false);
    result
}

/// Runs a closure while this thread is not known as a worker, as if it lent its worker and no
/// thread took it. If the closure uses a pool, it waits like a thread outside and runs no jobs:
/// they would run in the handler, and in the middle of falling asleep. The closure does not unwind.
pub(crate) fn while_unregistered<R>(closure: impl FnOnce() -> R) -> R {
    // SAFETY: 1. a worker does not leave while its thread is in this call.
    let Some(worker) = (unsafe { WorkerThread::current() }) else {
        return closure();
    };
    // SAFETY: 1. the pointer is null.
    unsafe { Std::set_current(ptr::null()) };
    let result = frames::while_lending(worker, closure);
    // If the closure has forked the process and returns in the child, this is no worker there.
    if fork::is_own_process(worker.registry()) {
        // SAFETY: 1. it was the current worker, which stays in place until it leaves.
        unsafe { Std::set_current(worker) };
    }
    result
}

/// Whether this thread is in a handler, where it must not mark workers.
pub(crate) fn is_in_handler() -> bool {
    IN_HANDLER.get()
}

/// Calls a handler. Prints the message and aborts if the handler panics, because the frames that
/// call this must not unwind.
pub(crate) fn call_handler<R>(message: &'static str, handler: impl FnOnce() -> R) -> R {
    let no_way_out = AbortOnUnwind(message);
    // An outer handler that waits for another pool may call the inner one of its callers.
    let outer = IN_HANDLER.replace(true);
    let result = handler();
    IN_HANDLER.set(outer);
    std::mem::forget(no_way_out);
    result
}
