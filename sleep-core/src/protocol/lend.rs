//! What a protocol does for threads outside the pool that wait for its workers, or take their
//! places.

use crate::{index::WorkerIndex, protocol::SleepProtocol};

/// A protocol that may lend the place of a sleeping worker to a thread outside the pool, a *guest*.
///
/// A pool without guests needs none of this. A protocol that lends nothing implements the trait
/// without a method: `impl LendSeats for Spinning {}`.
///
/// # What a protocol promises
/// 1. `borrow_sleeper` returns a worker that sleeps, and each worker at most once until
///    `give_back`. The worker's own thread does not return from
///    [`no_work_found`](SleepProtocol::no_work_found) in between.
/// 2. No wake-up is lost meanwhile: a job that the worker's own thread may run, and a latch for
///    which it waits, are seen by the look in `give_back`, or another worker is woken for the job.
///
/// No memory safety may rest on these promises, as on none of [`SleepProtocol`]. The check
/// `check_lending` of the module `testing` plays guests.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, Purpose, LendSeats, SleepProtocol, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// // No worker sleeps, so that none can be borrowed.
/// assert!(SLEEP.borrow_sleeper(|_worker| true).is_none());
/// # let _ = Purpose::Job;
/// ```
pub trait LendSeats: SleepProtocol {
    /// Takes over the place of a sleeping worker for the calling thread, the guest, without waking
    /// the worker. From now on the worker counts as awake and active, and the guest makes its calls
    /// instead of the worker's thread, until [`give_back`](Self::give_back). The worker's own
    /// thread stays in [`no_work_found`](SleepProtocol::no_work_found) meanwhile.
    ///
    /// Offers each sleeping worker to `eligible`, at most once each, until it accepts one that
    /// still sleeps. The answer may be out of date by the time the worker is taken over; then the
    /// caller gives the worker back at once, and says that there is work.
    ///
    /// A worker sleeps from its registration on. So its own thread may still be in its last look,
    /// in `has_work`, and then stays there until it is woken, whatever that look has found. A pool
    /// tells the end of the look to `eligible` if the guest uses what the look uses, or if the look
    /// ends with a call of `Accounting::fall_asleep` of the module `deadlock`.
    ///
    /// A guest that sleeps parks by [`Parker::park_guest`](crate::Parker::park_guest). A thread
    /// that was about to wake the worker for a job finds another sleeper, or leaves the job to the
    /// look in `give_back`.
    ///
    /// By default there is never a sleeper to borrow.
    #[must_use = "the worker sleeps until it is given back"]
    #[inline]
    fn borrow_sleeper(&self, eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        let _ = eligible;
        None
    }

    /// Gives back the place of a worker that [`borrow_sleeper`](Self::borrow_sleeper) has returned.
    /// The worker's own thread counts as asleep again. Returns whether it was woken.
    ///
    /// `has_work` says whether the worker's own thread has a reason to wake up: its latch is set,
    /// or a source holds work for it. It is called after the worker has registered as a sleeper,
    /// and must look at every source, as in [`no_work_found`](SleepProtocol::no_work_found). A
    /// thread that sets the latch while the place is lent needs a sequentially consistent fence
    /// between that and [`wake_worker`](SleepProtocol::wake_worker).
    /// [`StopLatch::set`](crate::StopLatch::set) and [`set_latch`](crate::set_latch) have it.
    ///
    /// By default this does nothing, which is right for the default of `borrow_sleeper`.
    #[inline]
    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        let _ = (worker, has_work);
        false
    }

    /// Notes that a thread outside the pool runs again, after it blocked until a job had been run
    /// because it had no seat.
    ///
    /// It may post its next job soon. The time without work counts from now: a worker that searches
    /// meanwhile need not make up for the thread's own wake-up.
    ///
    /// By default this does nothing.
    #[inline]
    fn caller_resumed(&self) {}
}
