//! Waits for a limited time.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{fork, platform::WorkerThread, seeded::point_if_seeded};

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
    /// runs a job by `run_one`, or else the thread sleeps for a moment. Returns false when the time
    /// is over, or if the job has forked the process and this is the child: no other thread is
    /// there.
    ///
    /// The worker runs a job, or finds none, even if the time is too short for the search.
    /// Otherwise a caller that waits again and again could wait for a job that it never lets go on.
    ///
    /// A worker does not sleep by its pool's protocol, which knows no limits. It counts as awake,
    /// so a job that it alone may run waits for the end of the nap at most.
    pub(crate) fn poll(
        self,
        worker: Option<&WorkerThread>,
        run_one: impl Fn(&WorkerThread) -> bool,
        mut holds: impl FnMut() -> bool,
    ) -> bool {
        let mut is_over = false;
        // Liveness: the time ends.
        while !holds() {
            let has_forked = worker.is_some_and(|worker| !fork::is_own_process(worker.registry()));
            if is_over || has_forked {
                return false;
            }
            let has_run = worker.is_some_and(&run_one);
            let remaining = self.remaining();
            is_over = remaining.is_zero();
            if !has_run && !is_over {
                worker.inspect(|worker| point_if_seeded(worker));
                thread::sleep(remaining.min(NAP));
            }
        }
        true
    }
}
