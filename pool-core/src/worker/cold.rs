//! What a join, a post or a call does when it cannot go on at once: the code that is large, and
//! seldom runs.
//!
//! The compiler makes copies of a generic function in each crate that needs it. A crate with one
//! `join` would so get all that a worker does while it waits. A platform decides where these
//! copies are: [`Platform::run_cold`]. Of the paths, those of a join are below.

use core::{fmt, mem::MaybeUninit};

use deque_core::{FastPush, Order, Position, TakeBack};
use sleep_core::{CoreLatch, WorkerIndex};

use crate::{
    isolation::Isolation,
    job::JobRef,
    join::JoinHeader,
    latch::SpinLatch,
    platform::Platform,
    registry::{Call, Registry},
    unwind::no_unwind,
    worker::{Awaited, WorkerThread, idle::Setter},
};

/// A part of a pool's work that a platform [runs](Platform::run_cold), in a separate function or in
/// its caller.
///
/// # Examples
/// A complete `run_cold` of a platform that is compiled once:
/// ```
/// # enum Threads {}
/// # impl Threads {
/// #[inline(never)]
/// fn run_cold<P: pool_core::Platform>(path: pool_core::ColdPath<'_, P>) -> bool {
///     path.run()
/// }
/// # }
/// ```
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
    /// Resumes a panic of the user's code, as the pool's call that led here does.
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

impl<P: Platform> WorkerThread<P> {
    /// Queues the second half of a join when the deque may be full, or when a worker sleeps or did
    /// so a short while ago. Returns false if the deque is full.
    fn queue_half_cold(&self, pushed: FastPush, job: JobRef, header: &JoinHeader<P>) -> bool {
        if pushed == FastPush::LimitReached && self.own().try_push(job).is_err() {
            return false;
        }
        if self.own().deque().order() == Order::Fifo {
            // SAFETY: 1. we are the owner, and have not waited.
            unsafe { header.set_position(Position::NOWHERE) };
        }
        no_unwind(|| self.announce_join());
        true
    }

    /// Wakes a thief, if needed, for a join's job that was put on this worker's deque. If no worker
    /// sleeps, or if [enough](Platform::parallelism) are awake, also enables fast push, so that the
    /// next joins need not ask whether a worker sleeps.
    ///
    /// If no worker is woken because all are awake, none overlooks the job: if a worker that falls
    /// asleep does not see it, we see that worker, and it [disables our fast
    /// push](deque_core::Deque::disable_fast_push), so that we announce the next one. If none
    /// is woken because enough are awake, sleepers may overlook the job until one of the others
    /// falls asleep, which disables our fast push likewise. This worker runs the job itself if
    /// no thief comes.
    ///
    /// A worker that waits in isolation for what this one runs counts as awake. It is woken if it
    /// sleeps.
    ///
    /// If the platform [delays](Platform::delays_wake) the wake-up, the next join asks again.
    pub(super) fn announce_join(&self) {
        let registry = self.registry();
        // While this worker is registered as a sleeper, one that falls asleep may not disable its
        // fast push.
        let all_are_awake = || registry.all_are_awake() && !self.is_awaited_asleep();
        let may_enable =
            || !self.may_be_left_out.get() && (all_are_awake() || registry.fill_the_processors());
        // The fence that all of this needs for such a job is in `enable_fast_push`.
        if !self.own().enable_fast_push(may_enable) {
            self.wake_awaiting();
            if !P::delays_wake(registry) {
                self.stop_being_left_out();
                self.shared().shield.lower();
                registry.announce_own_jobs(self.index(), 1, || self.own().len() <= 1);
            }
        }
    }

    /// Waits for a job that was stolen, or runs jobs that were pushed after it and must be run
    /// first. Returns true if the job was taken back, and false if it has been run.
    fn reclaim_or_wait_cold(&self, answer: TakeBack, job: &JoinHeader<P>) -> bool {
        let latch = SpinLatch::new(self);
        let mut room = MaybeUninit::uninit();
        let awaited = self.await_job(job);
        // SAFETY: 1. the only call for this job; 2. we return, and the caller goes on, when the
        // latch is set or the job was taken back.
        if !unsafe { job.set_awaited(&latch, &mut room) } {
            return false;
        }
        let latch = latch.core();
        // Not by a path again, which would take more of the stack.
        let wait = || self.wait_cold(awaited, latch, Setter::Worker);
        if answer == TakeBack::Stolen {
            wait();
            return false;
        }
        let wanted = core::ptr::from_ref(job).cast();
        let take_in_turn = || match awaited.isolation {
            Isolation::Anything => self.take_own_in_turn(),
            _ => self.take_oldest_in_turn(awaited.from),
        };
        no_unwind(|| {
            // The inbox has only its turns here. Otherwise it is left to the wait.
            while !latch.probe() {
                match take_in_turn().or_else(|| self.take_deque_job()) {
                    Some(job) if job.refers_to(wanted) => return true,
                    // SAFETY: 1. the queue gave it to us alone.
                    Some(job) => unsafe { self.run(job) },
                    None => wait(),
                }
            }
            false
        })
    }

    /// Returns what the join that pushed this job waits for.
    pub(crate) fn await_job(&self, job: &JoinHeader<P>) -> Awaited {
        // SAFETY: 1. we are the owner, and have not waited.
        match unsafe { job.position() } {
            // It was popped, and has been run.
            Position::NOWHERE => self.await_from_now(),
            position => self.await_from(position),
        }
    }
}
