//! Waiting for the end of a pool, for a limited time.

use std::{sync::PoisonError, thread};

use super::{Threads, lock};
use crate::{blocking::handlers::ThreadHandlers, limit::Limit, platform::WorkerThread};

impl Threads {
    /// Waits as [`wait_until_stopped`](Self::wait_until_stopped) does, but no longer than the
    /// limit. Returns whether the pool's threads have ended.
    pub(crate) fn wait_until_stopped_for(&self, limit: Limit, handlers: &ThreadHandlers) -> bool {
        // SAFETY: 1. this thread stays the worker until the call returns.
        let worker = unsafe { WorkerThread::current() };
        let _waiter = self.count_waiting();
        let mut has_ended = false;
        let mut wait = || {
            if worker.is_none() {
                // Liveness: as in `wait_until_stopped`, and the time ends.
                let running = lock(&self.running);
                let result =
                    self.all_stopped
                        .wait_timeout_while(running, limit.remaining(), |running| {
                            running.threads > 0
                        });
                drop(result.unwrap_or_else(PoisonError::into_inner));
            }
            has_ended = limit.poll(worker, WorkerThread::help, || self.have_threads_ended());
        };
        match worker {
            Some(_) => wait(),
            None => handlers.around_wait(wait),
        }
        if has_ended {
            self.join_threads(worker);
        }
        has_ended
    }

    /// Whether every thread of the pool has stopped, and what the system threads that we started
    /// run has returned. The destructors of their thread-locals may not have ended. A join waits
    /// for those, whatever the limit is.
    fn have_threads_ended(&self) -> bool {
        // Both locks, since a handle is in the list or counted as being joined.
        let handles = lock(&self.handles);
        let running = lock(&self.running);
        running.threads == 0
            && running.joining == 0
            && handles.iter().all(thread::JoinHandle::is_finished)
    }
}
