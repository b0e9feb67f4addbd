//! Waiting for the end of a pool, for a limited time.

use std::sync::PoisonError;

use super::{Threads, lock};
use crate::{blocking::handlers::ThreadHandlers, fork, limit::Limit, platform::WorkerThread};

impl Threads {
    /// Waits as [`wait_until_stopped`](Self::wait_until_stopped) does, but no longer than the
    /// limit. Returns whether the pool's threads have ended.
    pub(crate) fn wait_until_stopped_for(&self, limit: Limit, handlers: &ThreadHandlers) -> bool {
        // SAFETY: 1. this thread stays the worker until the call returns.
        let worker = unsafe { WorkerThread::current() };
        let waiter = self.count_waiting();
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
            // In a child, another thread of the parent may have had the locks.
            let is_here = || worker.is_none_or(|worker| fork::is_own_process(worker.registry()));
            let has_stopped = || lock(&self.running).threads == 0;
            has_ended = limit.poll(worker, WorkerThread::help, || {
                is_here() && has_stopped() && self.try_join_all()
            });
        };
        match worker {
            Some(_) => wait(),
            None => handlers.around_wait(wait),
        }
        if worker.is_some_and(|worker| !fork::is_own_process(worker.registry())) {
            // Its drop takes a lock, see above.
            std::mem::forget(waiter);
        }
        has_ended
    }
}
