//! What a join, a post or a call does when it cannot go on at once: the code that is large, and
//! seldom runs.
//!
//! The compiler makes copies of a generic function in each crate that needs it. A crate with one
//! `join` would so get all that a worker does while it waits. A platform decides where these
//! copies are: [`Platform::run_cold`].

use core::fmt;

use deque_core::{FastPush, Position, TakeBack};
use sleep_core::{CoreLatch, WorkerIndex};

use crate::{
    job::JobRef,
    join::JoinHeader,
    platform::Platform,
    registry::{Call, Registry},
    worker::{Awaited, Setter, WorkerThread},
};

/// A part of a pool's work that a platform [runs](Platform::run_cold), in a function of its own or
/// in its caller.
pub struct ColdPath<'a, P: Platform>(pub(crate) Path<'a, P>);

/// The functions that are reached so, with their arguments.
pub(crate) enum Path<'a, P: Platform> {
    QueueHalf(&'a WorkerThread<P>, FastPush, JobRef, &'a JoinHeader<P>),
    ReclaimOrWait(&'a WorkerThread<P>, TakeBack, &'a JoinHeader<P>),
    AnnouncePosted(&'a WorkerThread<P>, usize),
    Wait(&'a WorkerThread<P>, Awaited, &'a CoreLatch, Setter),
    RunRest(&'a WorkerThread<P>, Position),
    WakeWorker(&'a Registry<P>, WorkerIndex),
    RunOutside(&'a Registry<P>, Call<'a, P>),
    RunCross(&'a Registry<P>, &'a WorkerThread<P>, Call<'a, P>),
}

impl<P: Platform> ColdPath<'_, P> {
    /// Runs it. Returns its answer, or true if it has none.
    ///
    /// # Panics
    /// A panic of the user's code goes on, as from the call of the pool that led here.
    #[inline(always)]
    pub fn run(self) -> bool {
        match self.0 {
            Path::QueueHalf(worker, pushed, job, header) => {
                return worker.queue_half_cold(pushed, job, header);
            }
            Path::ReclaimOrWait(worker, answer, header) => {
                return worker.reclaim_or_wait_cold(answer, header);
            }
            Path::AnnouncePosted(worker, count) => worker.announce_posted_cold(count),
            Path::Wait(worker, awaited, latch, setter) => worker.wait_cold(awaited, latch, setter),
            Path::RunRest(worker, from) => worker.run_rest_cold(from),
            Path::WakeWorker(registry, worker) => registry.wake_worker_cold(worker),
            Path::RunOutside(registry, call) => registry.run_outside(call),
            Path::RunCross(registry, worker, call) => registry.run_cross(worker, call),
        }
        true
    }
}

impl<P: Platform> fmt::Debug for ColdPath<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColdPath").finish_non_exhaustive()
    }
}
