//! A way into the pool for tasks: a job whose end wakes the task that waits for it.

use embassy_sync::{blocking_mutex::raw::CriticalSectionRawMutex, mutex::Mutex, signal::Signal};
use pool_spin::{Cores, SpawnErrorReason, Worker};

use crate::{JOBS, POOL, WORKERS, chip::Rp2350};

/// The worker that runs a job.
pub type OnCore<'w> = Worker<'w, Cores<Rp2350, WORKERS, JOBS>>;

/// Runs one job at a time for any number of tasks. Lives in a `static`, because a job may outlive
/// the task that waits for it: a task can be dropped at any `await`.
///
/// The mutex of embassy-sync keeps one waker. While two tasks or more wait for their turn, they
/// wake each other all the time, and the first core does not sleep. A program with many tasks has a
/// request for each, or a queue before it.
pub struct Request<R> {
    /// Whether a job runs whose result no task has received.
    is_running: Mutex<CriticalSectionRawMutex, bool>,
    result: Signal<CriticalSectionRawMutex, R>,
}

impl<R: Send> Request<R> {
    /// Creates a request for which no job runs.
    pub const fn new() -> Self {
        Self {
            is_running: Mutex::new(false),
            result: Signal::new(),
        }
    }

    /// Runs a closure on the pool, and waits for its result while other tasks run. `install` would
    /// keep them waiting.
    ///
    /// # Errors
    /// If the pool has no room for the job, or has ended.
    pub async fn run<F>(&'static self, closure: F) -> Result<R, SpawnErrorReason>
    where
        F: FnOnce(OnCore<'_>) -> R + Send + 'static,
    {
        let mut is_running = self.is_running.lock().await;
        if *is_running {
            // For a task that was dropped. Its result would be taken for ours.
            drop(self.result.wait().await);
            *is_running = false;
        }
        let job = move |core: OnCore<'_>| self.result.signal(closure(core));
        // It sends an event, which wakes the second core.
        POOL.spawn(job).map_err(|error| error.reason)?;
        *is_running = true;
        // Liveness: the worker runs each job, and `signal` wakes this task, and the executor.
        let result = self.result.wait().await;
        *is_running = false;
        Ok(result)
    }
}
