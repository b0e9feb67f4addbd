//! Finds jobs that wait although workers are awake. Intended for the watchdogs of platforms.

use deque_core::Position;

use super::Registry;
use crate::platform::Platform;

/// A job that waited on a worker's deque at some moment.
///
/// # Examples
/// A watchdog does this from time to time:
/// ```
/// use pool_core::{Platform, Registry, WaitingJob};
///
/// /// Wakes a worker if a job has waited since the last check. Returns what to look for next time.
/// fn check<P: Platform>(registry: &Registry<P>, last: Option<WaitingJob>) -> Option<WaitingJob> {
///     if last.is_some_and(|job| registry.still_waits(job)) {
///         registry.announce_jobs(1);
///     }
///     registry.waiting_job()
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct WaitingJob {
    worker: usize,
    position: Position,
}

impl<P: Platform> Registry<P> {
    /// Returns a job that waits on a worker's deque, if any does, for
    /// [`still_waits`](Self::still_waits).
    pub fn waiting_job(&self) -> Option<WaitingJob> {
        let mut workers = self.workers().iter().enumerate();
        workers.find_map(|(worker, shared)| {
            let position = shared.deque.oldest()?;
            Some(WaitingJob { worker, position })
        })
    }

    /// Whether a job that [`waiting_job`](Self::waiting_job) of this registry has returned still
    /// waits. The answer may be out of date on return. It is also true if a worker whose deque is
    /// biased has taken the job itself and has then pushed another job at the same position.
    ///
    /// A job is identified by its worker's number and its position on that worker's deque. For a
    /// job of another registry, the answer is about whatever job is at the same position here.
    pub fn still_waits(&self, job: WaitingJob) -> bool {
        let worker = self.workers().get(job.worker);
        worker.and_then(|worker| worker.deque.oldest()) == Some(job.position)
    }
}
