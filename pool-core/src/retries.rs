//! How a worker waits while another thread is in the middle of an operation on a queue.

use crate::{platform::Platform, primitive::spin_loop, worker::WorkerThread};

/// The number of attempts after which the other thread is probably not running.
const SPINS: u32 = if cfg!(loom) { 0 } else { 10 };
/// How many times the pause is doubled until then: up to 32 spin hints, about a microsecond.
const DOUBLINGS: u32 = 5;
/// How many times it is doubled in total: up to 512 spin hints, about twenty microseconds.
const MOST_DOUBLINGS: u32 = 9;

/// The number of times that a worker gives way until it has waited for longer than an operation on
/// a queue takes if the other thread has a processor.
const MOST_ROUNDS: u32 = 6;

/// Attempts that failed because another thread is in the middle of an operation.
///
/// The pauses grow, because many threads may retry at the same place. The other thread may have
/// lost its processor, perhaps to the worker that waits for it. So after a few attempts the worker
/// gives way.
#[derive(Debug)]
pub(crate) struct Retries(u32);

impl Retries {
    pub(crate) const fn new() -> Self {
        Self(0)
    }

    /// Waits as [`wait`](Self::wait) does, unless the other thread may be in a job instead of an
    /// operation on a queue: the owner of a deque pops no more before the end of its job, and the
    /// system refuses the process fence that would do instead. Returns false then.
    pub(crate) fn try_wait<P: Platform>(&mut self, worker: &WorkerThread<P>) -> bool {
        let may_wait = self.0 < SPINS + MOST_ROUNDS;
        if may_wait {
            self.wait(worker);
        }
        may_wait
    }

    /// Waits for a moment before the next attempt.
    #[inline]
    pub(crate) fn wait<P: Platform>(&mut self, worker: &WorkerThread<P>) {
        // The more threads retry at the same place, the longer each of them stays away.
        let doublings = match self.0.checked_sub(SPINS) {
            None => self.0.min(DOUBLINGS),
            Some(round) => {
                // Liveness: the other thread needs only a processor to finish its operation.
                P::give_way(worker, round);
                // If the system has nothing else to run, giving way takes less time than the pauses
                // before.
                round.saturating_add(DOUBLINGS).min(MOST_DOUBLINGS)
            }
        };
        let pauses = if cfg!(loom) { 0 } else { 1 << doublings };
        (0..pauses).for_each(|_| spin_loop());
        self.0 = self.0.saturating_add(1);
    }
}
