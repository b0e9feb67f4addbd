//! Sleep protocols: when a worker sleeps, and which worker is woken.

use crate::{
    index::{UnknownWorker, WorkerIndex},
    latch::CoreLatch,
    parker::Parker,
    policy::Purpose,
    primitive::{Ordering, fence},
};

mod awake_set;
pub mod busy;
pub mod classic;
mod fence;
mod hint;
pub mod hints;
mod inline;
pub mod jec;
mod lend;
mod mark;
mod new_jobs;
mod slot;
pub mod sockets;

#[cfg(all(test, not(loom)))]
mod tests;

pub use awake_set::AwakeSet;
pub use fence::full_fence;
pub use hint::Hint;
pub use inline::Inline;
pub use lend::LendSeats;
pub use new_jobs::{NewJobs, Origin};
#[cfg(all(test, not(loom)))]
pub(crate) use slot::Tenant;

/// A sleep protocol: decides when the workers of a pool sleep, and which of them are woken.
///
/// A protocol brings no threads and no queues. A pool calls it at these points:
///
/// | when | call |
/// | --- | --- |
/// | a worker begins to search for work | [`start_looking`](Self::start_looking) |
/// | a search was fruitless | [`no_work_found`](Self::no_work_found), which may sleep |
/// | it has work, or its latch is set | [`work_found`](Self::work_found) |
/// | jobs were queued that any worker may run | [`announce`](Self::announce) |
/// | jobs were queued that one worker alone may run | [`announce_for`](Self::announce_for) |
/// | a latch was set whose waiter sleeps | [`wake_worker`](Self::wake_worker), by [`set_latch`] |
///
/// Two further traits are optional for pools: [`LendSeats`], for threads that take the place of a
/// sleeping worker, and [`AwakeSet`], for searches that skip sleepers.
///
/// [`Jec`](crate::Jec) is the one that pools use; [`Sockets`](crate::Sockets) is several of them,
/// for large machines; [`Classic`](crate::Classic) is simpler and wakes all sleepers at once;
/// [`Hints`](crate::Hints) tells a woken worker where the work is; [`Busy`](crate::Busy) never
/// sleeps.
///
/// # What a caller promises
/// 1. Each worker has one thread, and that thread alone calls `start_looking`, then `no_work_found`
///    any number of times, then `work_found`, with the state that the first of them returned. While
///    the worker is borrowed, the guest is that thread.
/// 2. A call that announces jobs comes after the jobs were queued.
/// 3. A latch has one waiter.
/// 4. The queue of a worker is empty when it calls `no_work_found`. It announces the next job that
///    it queues there after a fence, unless all workers are awake then, or it will run that job
///    itself if no other worker takes it.
/// 5. `has_work`, `more_work` and the parkers do not panic. If one does, end the process: the
///    worker stays registered as a sleeper, or is released without a token, so that a later wake-up
///    is lost on it.
///
/// A caller that breaks a promise loses wake-ups; no memory safety rests on them. Debug assertions
/// find a worker that begins a search in the middle of another, and a latch with two waiters. The
/// module `testing`, of the feature with that name, finds more.
///
/// # What a protocol promises
/// 1. Let a job be announced, by `announce` as [injected](Origin::Injected), or by `announce_for`.
///    Each worker that may run it and is in `no_work_found` sees it in its last `has_work`, or
///    another such worker is awake and will search again, or one of them is woken. The same holds
///    for an [internal](Origin::Internal) job if the caller has executed a sequentially consistent
///    fence since it queued the job. `all_are_awake` after such a fence is false if a worker has
///    registered as a sleeper and begun its last look before.
/// 2. A worker that leaves by `work_found` passes on what posters left to it: it wakes other
///    workers if they sleep and `more_work` says that there is work for them. Or it leaves the jobs
///    to a worker that is awake and searches: that one takes them, sees them in its last
///    `has_work`, or passes them on itself.
/// 3. `no_work_found` returns soon after its latch is set. A protocol that parks moves the latch by
///    [`get_sleepy`](CoreLatch::get_sleepy) and [`fall_asleep`](CoreLatch::fall_asleep) before, and
///    by [`wake_up`](CoreLatch::wake_up) afterwards. The worker is registered as a sleeper before
///    `fall_asleep`: from then on, the setter of the latch wakes it by `wake_worker`.
/// 4. No call that announces jobs or wakes a worker blocks or allocates, so that interrupt handlers
///    may make them. No call panics.
///
/// The check `check_protocol` of the module `testing` looks for a protocol that breaks one of them.
///
/// The trait is safe to implement because no memory safety may rest on these promises: a protocol
/// that breaks them loses wake-ups, so its pool hangs, but nothing worse happens. Pools that call a
/// protocol from frames that other threads use end the process if it panics.
///
/// # Implementing one
/// The smallest protocol parks no worker: [`Busy`](crate::Busy), about 150 lines, is a file to copy
/// from. A protocol that sleeps needs three things beyond that: a way to tell sleepers from workers
/// that search; a look at every queue *after* a worker has registered as a sleeper, with a
/// sequentially consistent fence in between; and the same fence in `announce` and `announce_for`
/// between the caller's write of its queue and the look for sleepers. Of two such fences one comes
/// first, so that either the sleeper sees the job or the poster sees the sleeper. The [README of
/// `Jec`](crate::protocol::jec) has the whole argument.
///
/// A protocol that relaxes and never sleeps:
/// ```
/// use sleep_core::{CoreLatch, NewJobs, Parker, Purpose, SleepProtocol, WorkerIndex};
///
/// struct Spinning<P, const N: usize>([P; N]);
///
/// impl<P: Parker, const N: usize> SleepProtocol for Spinning<P, N> {
///     type Parker = P;
///     type IdleState = WorkerIndex;
///     type Hint = ();
///
///     fn num_workers(&self) -> usize { N }
///     fn parker(&self, worker: WorkerIndex) -> &P { &self.0[worker.get()] }
///
///     fn start_looking(&self, worker: WorkerIndex, _: Purpose) -> WorkerIndex { worker }
///     fn no_work_found(&self, idle: &mut WorkerIndex, _: &CoreLatch, _: impl FnOnce() -> bool) {
///         self.parker(*idle).relax();
///     }
///     fn work_found(&self, _: WorkerIndex, _: impl FnOnce() -> bool) {}
///
///     fn announce(&self, _: NewJobs<impl FnOnce() -> bool>) {}
///     fn announce_for(&self, _: impl IntoIterator<Item = WorkerIndex>) {}
///     fn all_are_awake(&self) -> bool { true }
///     fn wake_worker(&self, _: WorkerIndex) -> bool { false }
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
    /// Created by [`start_looking`](Self::start_looking), kept by the worker's search loop, and
    /// given back to [`work_found`](Self::work_found). If a worker drops it, the worker counts as
    /// idle forever, and posters rely on a searcher that does not exist. The protocols of this
    /// crate find that with debug assertions, when the worker begins its next search.
    type IdleState;

    /// Where a woken worker looks first: [`Hint`], or `()` if the protocol does not say.
    type Hint: Into<Hint>;

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
    ///
    /// `purpose` says what for: a worker that waits for a job which another worker is running, such
    /// as the second closure of a join, may see it end at any moment. So it pays off to stay awake
    /// for some time, however many other workers search.
    #[must_use = "the worker counts as idle until this is given to `work_found`"]
    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> Self::IdleState;

    /// Reports that the worker has searched all sources of work and found none. Relaxes, or sleeps
    /// until the worker is woken. The worker then searches again, unless its latch is set.
    ///
    /// `latch` is what the worker waits for: setting it ends the sleep. `has_work` says whether any
    /// source holds work for this worker. It is called after the worker has registered as a
    /// sleeper, and must look at every source; otherwise, a job posted there meanwhile is
    /// overlooked.
    ///
    /// Returns where the work is, if the worker was woken with a hint. The worker looks there once,
    /// after its own queue and before it searches everywhere. A hint may be out of date.
    fn no_work_found(
        &self,
        idle: &mut Self::IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> Self::Hint;

    /// Reports that the worker stops searching, because it found work or because its latch is set.
    ///
    /// `more_work` says whether a queue holds work for other workers. The protocol asks it if
    /// workers sleep: a poster may have woken none of them because it counted on this worker. It
    /// need not ask while others search, on which it can rely.
    ///
    /// Call it before the job is run.
    fn work_found(&self, idle: Self::IdleState, more_work: impl FnOnce() -> bool);

    /// Announces jobs that any worker may run. [`NewJobs`] says how many, where they are, and
    /// whether their poster stays until they have been run.
    ///
    /// Call it after queueing. It never blocks, so an interrupt handler may call it. A batch that
    /// turns out to be empty may be announced.
    #[doc(alias = "new_injected_jobs")]
    #[doc(alias = "new_internal_jobs")]
    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>);

    /// Announces a job for each of these workers, which it alone may run. None of them overlooks
    /// its job.
    ///
    /// Call it after all of the jobs were queued: `announce_for([worker])`. `has_work` of each
    /// worker must look at that queue.
    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>);

    /// Whether no worker sleeps or is about to, so that [internal](Origin::Internal) jobs need not
    /// be announced. Should be one load, because it is called often.
    fn all_are_awake(&self) -> bool;

    /// Wakes a worker if it sleeps. Returns true if the worker slept and no other thread was
    /// waking it.
    ///
    /// Called by the setter of a latch whose waiter sleeps, see [`CoreLatch::set`].
    #[doc(alias = "notify_worker_latch_is_set")]
    fn wake_worker(&self, worker: WorkerIndex) -> bool;

    /// Returns the number of workers that are inactive at this moment: those that search and those
    /// that sleep. For debug output and statistics.
    fn num_inactive(&self) -> usize;

    /// Returns the number of workers that sleep at this moment and have not been woken. For debug
    /// output and statistics.
    fn num_sleeping(&self) -> usize;
}

/// Sets a latch on which `worker` may be waiting, and wakes the worker if it sleeps. Safe code sets
/// a [`StopLatch`](crate::StopLatch).
///
/// # Safety
/// 1. `latch` points to a live latch when the call begins. It may die during the call.
/// 2. Only `worker` waits on the latch.
/// 3. `sleep` outlives the call even if `latch` does not.
/// 4. The event that the worker waits for has happened: see [`CoreLatch::set`].
///
/// # Examples
/// ```
/// use sleep_core::{CoreLatch, IdlePolicy, Inline, Jec, Parker, SleepProtocol, Slot, set_latch};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
/// let waiter = SLEEP.worker(0)?;
/// let latch = CoreLatch::new();
/// // SAFETY: 1. and 3. both live on. 2. No worker waits. 4. Nothing is waited for.
/// unsafe { set_latch(&SLEEP, &raw const latch, waiter) };
/// assert!(latch.probe());
/// # Ok::<(), sleep_core::UnknownWorker>(())
/// ```
pub unsafe fn set_latch(sleep: &impl SleepProtocol, latch: *const CoreLatch, worker: WorkerIndex) {
    // SAFETY: our caller's obligations 1 and 4 are those of the call.
    if unsafe { CoreLatch::set(latch) } {
        // Ordering: pairs with the fence of `LendSeats::give_back`. If that one comes first, we
        // find the slot of the worker open; if ours does, a guest that gives the worker back sees
        // the latch. Nothing weaker orders our write of the latch before our look at the slot.
        fence(Ordering::SeqCst);
        sleep.wake_worker(worker);
    }
}
