//! Sleep protocols: when a worker sleeps, and which worker is woken.

use crate::{
    index::{UnknownWorker, WorkerIndex},
    latch::CoreLatch,
    parker::Parker,
};

pub mod busy;
pub mod classic;
mod fence;
mod hint;
pub mod hints;
pub mod jec;
mod mark;
mod slot;

#[cfg(all(test, not(loom)))]
mod tests;

pub use fence::full_fence;
pub use hint::Hint;
#[cfg(all(test, not(loom)))]
pub(crate) use slot::Tenant;

/// A sleep protocol: decides when the workers of a pool sleep, and which of them are woken.
///
/// A protocol brings no threads and no queues. A pool calls it at these points:
///
/// | when | call |
/// | --- | --- |
/// | a worker begins to search for work | [`start_looking`](Self::start_looking), or [`start_waiting`](Self::start_waiting) |
/// | a search was fruitless | [`no_work_found`](Self::no_work_found), which may sleep |
/// | the worker stops searching: it has work, or its latch is set | [`work_found`](Self::work_found) |
/// | the worker searches again after a sleep | [`take_hint`](Self::take_hint), if it uses hints |
/// | jobs were queued from outside, or by a worker that may go away | [`new_injected_jobs`](Self::new_injected_jobs) |
/// | jobs were queued by a worker that stays until they have been run, or has executed a fence since | [`new_internal_jobs`](Self::new_internal_jobs) |
/// | a job was queued that one worker alone may run | [`new_job_for`](Self::new_job_for), or [`new_jobs_for`](Self::new_jobs_for) for one each |
/// | a thread takes the place of a sleeping worker, and gives it back | [`borrow_sleeper`](Self::borrow_sleeper), [`give_back`](Self::give_back) |
/// | a thread outside, which has waited for a job, runs again | [`caller_resumed`](Self::caller_resumed) |
/// | a latch was set whose waiter sleeps | [`wake_worker`](Self::wake_worker), or [`set_latch`](Self::set_latch) for both |
///
/// [`Jec`](crate::Jec) is the one that pools use; [`Classic`](crate::Classic) is simpler and wakes all
/// sleepers at once; [`Hints`](crate::Hints) tells a worker that it wakes where the work is;
/// [`Busy`](crate::Busy) never sleeps.
///
/// # What a caller promises
/// 1. Each worker has one thread, and that thread alone calls `start_looking` or `start_waiting`, then `no_work_found`
///    any number of times, then `work_found`, with the state that the first of them returned. While the
///    worker is borrowed, the guest is that thread.
/// 2. A call that announces jobs comes after the jobs were queued.
/// 3. A latch has one waiter.
/// 4. The queue of a worker is empty when it calls `no_work_found`. It announces the next job that it queues there after
///    a fence, unless all workers are awake then, or it will run that job itself if no other worker takes it.
///
/// 5. `has_work`, `more_work` and the parkers do not panic. If one does, end the process: the worker stays registered as a
///    sleeper, or is released without a token, so that a later wake-up is lost on it.
///
/// A caller that breaks a promise loses wake-ups; no memory safety rests on them. Debug assertions find a worker that
/// begins a search in the middle of another, and a latch with two waiters. The module `testing`, of the feature of that
/// name, finds more.
///
/// # What a protocol promises
/// 1. Let a job be announced by `new_injected_jobs`, or for one worker by `new_job_for`. Each worker
///    that may run it and is in `no_work_found` sees it in its last `has_work`, or another such
///    worker is awake and will search again, or one of them is woken. The same holds for
///    `new_internal_jobs` if the caller has executed a sequentially consistent fence since it queued the
///    jobs. `all_are_awake` after such a fence is false if a worker has registered as a sleeper before.
/// 2. A worker that leaves by `work_found` passes on what posters left to it: it wakes other
///    workers if they sleep and `more_work` says that there is work for them. Or it leaves the jobs to a worker
///    that is awake and searches: that one takes them, sees them in its last `has_work`, or passes them on itself.
/// 3. `no_work_found` returns soon after its latch is set. A protocol that parks moves the latch by
///    [`get_sleepy`](CoreLatch::get_sleepy) and [`fall_asleep`](CoreLatch::fall_asleep) before, and
///    by [`wake_up`](CoreLatch::wake_up) afterwards.
/// 4. `borrow_sleeper` returns a worker that sleeps, and each worker at most once until `give_back`. The
///    worker's own thread does not return from `no_work_found` in between.
/// 5. `any_awake` leaves out only workers that are registered as sleepers or withdraw a registration. Let a worker *S*
///    register, execute a sequentially consistent fence, and call `any_awake`, which leaves out a worker *O*. If *O*
///    later leaves its registration and executes such a fence, its `all_are_awake` is false while *S* is registered.
///    So it must announce a job that it may leave to others. The same holds if *S* leaves its search by `work_found` in place of
///    registering: its call comes after such a fence too, and a worker whose fence came before is not left out.
/// 6. No call that announces jobs or wakes a worker blocks or allocates, so that interrupt handlers
///    may make them. No call panics.
///
/// The trait is safe to implement because no memory safety may rest on these promises: a protocol
/// that breaks them loses wake-ups, so that its pool hangs, and nothing worse. Pools that call a
/// protocol from frames that other threads use end the process if it panics.
///
/// # Implementing one
/// The smallest protocol parks no worker: [`Busy`](crate::Busy), about 100 lines, is a file to copy
/// from. A protocol that sleeps needs three things beyond that: a way to tell sleepers from workers
/// that search; a look at every queue *after* a worker has registered as a sleeper, with a
/// sequentially consistent fence in between; and the same fence in `new_injected_jobs` and
/// `new_job_for` between the caller's write of its queue and the look for sleepers. Of two such
/// fences one comes first, so that either the sleeper sees the job or the poster sees the sleeper.
/// The [README of `Jec`](crate::protocol::jec) has the whole argument.
///
/// A protocol that relaxes and never sleeps:
/// ```
/// use sleep_core::{CoreLatch, Parker, SleepProtocol, WorkerIndex};
///
/// struct Spinning<P, const N: usize>([P; N]);
///
/// impl<P: Parker, const N: usize> SleepProtocol for Spinning<P, N> {
///     type Parker = P;
///     type IdleState = WorkerIndex;
///
///     fn num_workers(&self) -> usize { N }
///     fn parker(&self, worker: WorkerIndex) -> &P { &self.0[worker.get()] }
///
///     fn start_looking(&self, worker: WorkerIndex) -> WorkerIndex { worker }
///     fn no_work_found(&self, idle: &mut WorkerIndex, _: &CoreLatch, _: impl FnOnce() -> bool) {
///         self.parker(*idle).relax();
///     }
///     fn work_found(&self, _: WorkerIndex, _: impl FnOnce() -> bool) {}
///
///     fn new_injected_jobs(&self, _count: usize, _queue_was_empty: bool) {}
///     fn new_internal_jobs(&self, _count: usize, _queue_was_empty: impl FnOnce() -> bool) {}
///     fn all_are_awake(&self) -> bool { true }
///     fn new_job_for(&self, _worker: WorkerIndex) {}
///     fn wake_worker(&self, _worker: WorkerIndex) -> bool { false }
///
///     fn num_inactive(&self) -> usize { 0 }
///     fn num_sleeping(&self) -> usize { 0 }
/// }
/// ```
pub trait SleepProtocol {
    /// Blocks one worker.
    type Parker: Parker;

    /// One worker's way from having no work to being asleep.
    ///
    /// Created by [`start_looking`](Self::start_looking) or [`start_waiting`](Self::start_waiting), kept by the worker's
    /// search loop, and given back to [`work_found`](Self::work_found). A worker that drops it counts as idle for good,
    /// and posters rely on a searcher that does not exist. The protocols of this crate find that with debug
    /// assertions, when the worker begins its next search.
    type IdleState;

    /// Returns the number of workers.
    fn num_workers(&self) -> usize;

    /// Returns the parker of a worker.
    fn parker(&self, worker: WorkerIndex) -> &Self::Parker;

    /// Returns the worker with this number, from 0.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are not that many.
    fn worker(&self, index: usize) -> Result<WorkerIndex, UnknownWorker> {
        WorkerIndex::new(index, self.num_workers())
    }

    /// Begins a worker's search for work. The worker is inactive until
    /// [`work_found`](Self::work_found).
    #[must_use = "the worker counts as idle until this is given to `work_found`"]
    fn start_looking(&self, worker: WorkerIndex) -> Self::IdleState;

    /// Begins the search of a worker as [`start_looking`](Self::start_looking) does, for a worker that waits for a job
    /// which another worker is running: the second closure of a join, say. That job may end at any moment, so it pays to
    /// stay awake for a while, however many other workers search.
    ///
    /// By default this is `start_looking`.
    #[must_use = "the worker counts as idle until this is given to `work_found`"]
    fn start_waiting(&self, worker: WorkerIndex) -> Self::IdleState {
        self.start_looking(worker)
    }

    /// Reports that the worker has searched all sources of work and found none. Relaxes, or sleeps
    /// until the worker is woken. The worker then searches again, unless its latch is set.
    ///
    /// `latch` is what the worker waits for: setting it ends the sleep. `has_work` says whether
    /// any source holds work for this worker. It is called after the worker has registered as a
    /// sleeper and must look at every source, or a job posted there meanwhile is overlooked.
    fn no_work_found(
        &self,
        idle: &mut Self::IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    );

    /// Reports that the worker stops searching, because it found work or because its latch is set.
    ///
    /// `more_work` says whether a queue holds work for other workers. The protocol asks it if
    /// workers sleep: a poster may have woken none of them because it counted on this worker. It need not ask while others
    /// search, on which it can rely.
    ///
    /// Call it before the job is run.
    fn work_found(&self, idle: Self::IdleState, more_work: impl FnOnce() -> bool);

    /// Announces `count` jobs that any worker may run, queued from anywhere. No sleeping worker
    /// overlooks them.
    ///
    /// `queue_was_empty` says whether the queue was empty before. If not, the idle workers are
    /// not keeping up, and a protocol may wake sleepers for all the new jobs.
    ///
    /// Call it after queueing. It never blocks, so an interrupt handler may call it. A batch that turns out to be
    /// empty may be announced: with a `count` of 0, no worker is woken. So a caller that queued a job and announces
    /// none loses the wake-up.
    fn new_injected_jobs(&self, count: usize, queue_was_empty: bool);

    /// Announces `count` jobs that a worker of the pool queued on its own queue.
    ///
    /// As [`new_injected_jobs`](Self::new_injected_jobs), but a protocol may do without the fence.
    /// Then a worker that is falling asleep may overlook the jobs until the next wake-up. So this
    /// is for a worker that stays until they have been run, as in a join, or that has executed a
    /// sequentially consistent fence after it queued them.
    ///
    /// A caller whose system has a fence for all threads of a process (`membarrier` on Linux) can
    /// rule that out without a fence in the poster. `has_work` executes the process fence first,
    /// and then looks. It does so each time, or at least whenever a poster may count all workers as
    /// awake. The poster needs a compiler fence between its write of the queue and this call. If
    /// the process fence takes effect after the write, `has_work` sees the job. If it takes effect
    /// before, this call sees the worker, which has registered by then.
    fn new_internal_jobs(&self, count: usize, queue_was_empty: impl FnOnce() -> bool);

    /// Announces jobs as [`new_injected_jobs`](Self::new_injected_jobs) does, and says where they are.
    ///
    /// A protocol that carries hints gives this one to a worker that it wakes. By default the hint is
    /// dropped.
    #[inline]
    fn new_injected_jobs_at(&self, hint: Hint, count: usize, queue_was_empty: bool) {
        let _ = hint;
        self.new_injected_jobs(count, queue_was_empty);
    }

    /// Announces jobs as [`new_internal_jobs`](Self::new_internal_jobs) does, and says where they are.
    ///
    /// By default the hint is dropped.
    #[inline]
    fn new_internal_jobs_at(
        &self,
        hint: Hint,
        count: usize,
        queue_was_empty: impl FnOnce() -> bool,
    ) {
        let _ = hint;
        self.new_internal_jobs(count, queue_was_empty);
    }

    /// Takes the hint that the worker was woken with, if it was woken with one.
    ///
    /// The worker looks there once, after its own queue and before it searches everywhere. A hint may be
    /// out of date. By default there is none, so that this costs nothing.
    #[inline]
    fn take_hint(&self, idle: &mut Self::IdleState) -> Option<Hint> {
        let _ = idle;
        None
    }

    /// Whether no worker sleeps or is about to, so that jobs need not be announced by
    /// [`new_internal_jobs`](Self::new_internal_jobs). Should be one load: it is asked often.
    fn all_are_awake(&self) -> bool;

    /// Calls `holds` for the workers that may be awake, at most once for each, until it returns true. Returns whether
    /// it did. `first` is a hint where to begin.
    ///
    /// This is for a look at the workers' own queues. A worker that is registered as a sleeper has
    /// emptied its queue before, so a protocol may leave it out, and a large pool in which most
    /// workers sleep looks at few queues. The pool ensures the rest: a worker that was registered
    /// announces the next job that it queues, after a fence, unless all workers are awake.
    ///
    /// `caller` is the calling worker, which is not registered as a sleeper, and is skipped. It is
    /// `None` in `has_work` of [`no_work_found`](Self::no_work_found) and of
    /// [`give_back`](Self::give_back), and on threads that are not workers.
    ///
    /// By default no other worker is left out.
    #[inline]
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let count = self.num_workers();
        let first = first.min(count);
        (first..count)
            .chain(0..first)
            .filter_map(|index| WorkerIndex::new(index, count).ok())
            .any(|worker| Some(worker) != caller && holds(worker))
    }

    /// Announces a job that only `worker` may run. The worker does not overlook it.
    ///
    /// Call it after queueing. `has_work` of that worker must look at that queue.
    fn new_job_for(&self, worker: WorkerIndex);

    /// Announces a job for each of these workers, which it alone may run, as
    /// [`new_job_for`](Self::new_job_for) does for one.
    ///
    /// By default `new_job_for` is called for each. A protocol may do with one fence for all, and with less
    /// when no worker sleeps.
    ///
    /// Call it after all of the jobs were queued.
    #[inline]
    fn new_jobs_for(&self, workers: impl Iterator<Item = WorkerIndex>) {
        workers.for_each(|worker| self.new_job_for(worker));
    }

    /// Wakes a worker if it sleeps. Returns true if the worker slept and no other thread was
    /// waking it.
    ///
    /// For the setter of a latch whose waiter sleeps, see [`CoreLatch::set`].
    #[doc(alias = "notify_worker_latch_is_set")]
    fn wake_worker(&self, worker: WorkerIndex) -> bool;

    /// Notes that a thread outside the pool, which blocked until a job had been run, runs again.
    ///
    /// It may post its next job soon. For how long there was no work counts from now: a worker that
    /// searches meanwhile need not make up for the thread's own wake-up.
    ///
    /// By default this does nothing.
    #[inline]
    fn caller_resumed(&self) {}

    /// Sets a latch on which `worker` may be waiting, and wakes the worker if it sleeps. Safe code sets a
    /// [`StopLatch`](crate::StopLatch).
    ///
    /// # Safety
    /// 1. `latch` points to a live latch when the call begins. It may die during the call.
    /// 2. Only `worker` waits on the latch.
    /// 3. `self` outlives the call even if `latch` does not.
    /// 4. What the worker waits for has happened: see [`CoreLatch::set`].
    unsafe fn set_latch(&self, latch: *const CoreLatch, worker: WorkerIndex) {
        // SAFETY: our caller's obligations 1 and 4 are those of the call.
        if unsafe { CoreLatch::set(latch) } {
            self.wake_worker(worker);
        }
    }

    /// Takes over the place of a sleeping worker for the calling thread, a *guest*, without waking
    /// the worker. From now on the worker counts as awake and active, and the guest makes its calls
    /// in place of the worker's thread, until [`give_back`](Self::give_back). The worker's own
    /// thread stays in [`no_work_found`](Self::no_work_found) meanwhile.
    ///
    /// Offers each sleeping worker to `eligible`, at most once each, until it accepts one that still sleeps. The
    /// answer may be out of date by the time the worker is taken over; then the caller gives the worker back at
    /// once, and says that there is work.
    ///
    /// A guest that sleeps parks by [`Parker::park_guest`]. A thread that was about to wake the worker for a
    /// job finds another sleeper, or leaves the job to the look in `give_back`.
    ///
    /// By default there is never a sleeper to borrow.
    #[must_use = "the worker sleeps until it is given back"]
    fn borrow_sleeper(&self, eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        let _ = eligible;
        None
    }

    /// Gives back the place of a worker that [`borrow_sleeper`](Self::borrow_sleeper) has returned.
    /// The worker's own thread counts as asleep again. Returns whether it was woken.
    ///
    /// `has_work` says whether the worker's own thread has a reason to wake up: its latch is set, or a source
    /// holds work for it. It is called after the worker has registered as a sleeper, and must look at every
    /// source, as in [`no_work_found`](Self::no_work_found). A thread that sets the latch while the place is
    /// lent needs a sequentially consistent fence between that and [`wake_worker`](Self::wake_worker).
    ///
    /// By default this does nothing, which is right for the default of `borrow_sleeper`.
    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        let _ = (worker, has_work);
        false
    }

    /// Returns how many workers are inactive at this moment: those that search and those that sleep.
    /// For debug output and statistics.
    fn num_inactive(&self) -> usize;

    /// Returns how many workers sleep at this moment and have not been woken. For debug output and
    /// statistics.
    fn num_sleeping(&self) -> usize;
}
