//! Waiting for the end of a pool, for a limited time.

use std::{
    sync::PoisonError,
    thread,
    time::{Duration, Instant},
};

use super::{Threads, lock};
use crate::{blocking::handlers::ThreadHandlers, platform::WorkerThread};

/// How long a thread sleeps that cannot be told what it waits for.
const NAP: Duration = Duration::from_millis(1);

/// A time from now on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    begin: Instant,
    time: Duration,
}

impl Limit {
    pub(crate) fn new(time: Duration) -> Self {
        Self {
            begin: Instant::now(),
            time,
        }
    }

    pub(crate) fn remaining(self) -> Duration {
        self.time.saturating_sub(self.begin.elapsed())
    }

    /// Calls `holds` until it returns true. Between two calls the worker, if this thread is one,
    /// runs a job, or else the thread sleeps for a moment. Returns false when the time is over.
    ///
    /// A worker does not sleep by its pool's protocol, which knows no limits. It counts as awake,
    /// so a job that it alone may run waits for the end of the nap at most.
    pub(crate) fn poll(
        self,
        worker: Option<&WorkerThread>,
        mut holds: impl FnMut() -> bool,
    ) -> bool {
        // Liveness: the time ends.
        while !holds() {
            let remaining = self.remaining();
            if remaining.is_zero() {
                return false;
            }
            if !worker.is_some_and(WorkerThread::yield_now) {
                thread::sleep(remaining.min(NAP));
            }
        }
        true
    }
}

impl Threads {
    /// Waits as [`wait_until_stopped`](Self::wait_until_stopped) does, but no longer than the
    /// limit. Returns whether the pool's threads have ended.
    pub(crate) fn wait_until_stopped_for(&self, limit: Limit, handlers: &ThreadHandlers) -> bool {
        // SAFETY: 1. this thread stays the worker until the call returns.
        let worker = unsafe { WorkerThread::current() };
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
            has_ended = limit.poll(worker, || self.have_threads_ended());
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

    /// Whether every thread of the pool has stopped, and the system threads that we started have
    /// run their destructors.
    fn have_threads_ended(&self) -> bool {
        lock(&self.running).threads == 0
            && lock(&self.handles)
                .iter()
                .all(thread::JoinHandle::is_finished)
    }
}
