//! The calls of a pool to its sleep protocol. Only this file makes such calls: nothing else can
//! read [`Seam`], and a test finds any other file that calls [`Registry::sleep`], which is for
//! platforms.
//!
//! A protocol is safe to implement, so no memory safety may rest on what it does. It can lose
//! wake-ups, which hangs the pool. It can return wrong counts, which are shown to users and decide
//! only about wake-ups. But it must not unwind from a frame that other threads use, so most
//! functions here end the process if the protocol panics. The others are called from frames that do
//! so themselves (`run_jobs_until`, `wait_isolated`, `queue_half_cold`, and those of a guest).

use deque_core::Deque;
use sleep_core::{
    AwakeSet as _, CoreLatch, Hint, LendSeats as _, NewJobs, Purpose, SleepProtocol, WorkerIndex,
};

use super::Registry;
use crate::{
    job::JobRef,
    platform::Platform,
    primitive::{Ordering, fence},
    unwind::no_unwind,
    worker::cold::{ColdPath, Path},
};
#[cfg(feature = "trace")]
use crate::{
    metrics::{Event, Observer as _},
    worker::WorkerThread,
};

/// The sleep protocol of a pool. Only this file can call it.
pub(super) struct Seam<S>(S);

impl<S> Seam<S> {
    pub(super) const fn new(protocol: S) -> Self {
        Self(protocol)
    }
}

impl<P: Platform> Registry<P> {
    /// Returns the sleep protocol, for a platform that calls methods beyond those of
    /// [`SleepProtocol`].
    pub fn sleep(&self) -> &P::Sleep {
        &self.sleep.0
    }

    /// Whether the protocol has as many workers as the pool.
    pub(super) fn sleep_is_consistent(&self) -> bool {
        self.num_workers() == self.sleep.0.num_workers()
    }

    /// Wakes workers, if need be, for `count` jobs that any worker may run. No sleeping worker
    /// overlooks them.
    ///
    /// Call this after queueing. It never blocks, so an interrupt handler may call it.
    #[inline]
    pub fn announce_jobs(&self, count: usize) {
        no_unwind(|| self.sleep.0.announce(NewJobs::injected(count, false)));
    }

    /// Wakes workers as [`announce_jobs`](Self::announce_jobs) does, and tells them where the jobs
    /// are, if the protocol can.
    ///
    /// `queue_was_empty` tells whether the queue was empty before: if so, the caller relies on idle
    /// workers that are awake.
    #[inline]
    pub(crate) fn announce_jobs_at(&self, hint: Hint, count: usize, queue_was_empty: bool) {
        no_unwind(|| {
            let jobs = NewJobs::injected(count, queue_was_empty);
            self.sleep.0.announce(jobs.at(hint));
        });
    }

    /// Wakes workers, if need be, for `count` jobs that `owner` queued on its own deque. A worker
    /// that is falling asleep may overlook them: the worker that queued them must either run them
    /// itself or have executed a sequentially consistent fence since.
    #[inline]
    pub(crate) fn announce_own_jobs(
        &self,
        owner: WorkerIndex,
        count: usize,
        queue_was_empty: impl FnOnce() -> bool,
    ) {
        let jobs = NewJobs::internal(count, queue_was_empty);
        self.sleep.0.announce(jobs.at(Hint::worker(owner)));
    }

    /// Wakes sleeping workers for jobs that the caller has seen in the queues of others. Each
    /// sleeper may have missed a different one of these jobs. A protocol that wakes only a few
    /// workers relies on those few, and on the caller, which searches next: a worker that finds a
    /// job wakes others for the rest. A worker that registers later sees all of these jobs, so it
    /// needs no wake-up.
    #[cold]
    pub(crate) fn announce_seen_jobs(&self) {
        // Ordering: pairs with the fence of a worker that falls asleep, before its last look. If
        // its fence comes first, we see that it is registered. If ours does, it sees the
        // jobs that we have seen. Nothing weaker orders our looks at the queues before our
        // look for sleepers.
        fence(Ordering::SeqCst);
        let jobs = NewJobs::internal(self.num_workers(), || false);
        self.sleep.0.announce(jobs);
        self.wake_waiters_with_jobs();
    }

    /// Wakes a worker, if it sleeps, for a job that only it may run. The worker does not overlook
    /// the job.
    ///
    /// Call this after queueing.
    #[inline]
    pub fn announce_job_for(&self, worker: WorkerIndex) {
        no_unwind(|| {
            // Ordering: pairs with the fence of a worker that sleeps in an isolated wait. If that
            // one comes first, we see that it sleeps. If ours does, it sees the job. Nothing weaker
            // orders the push before our look.
            fence(Ordering::SeqCst);
            if !self.wake_lone_sleeper(worker) {
                self.sleep.0.announce_for([worker]);
            }
        });
    }

    /// Wakes each worker that sleeps, for a job that only that worker may run. No worker overlooks
    /// its job. One fence is enough for all.
    ///
    /// Call this after queueing all of the jobs.
    pub(crate) fn announce_job_for_each(&self) {
        let workers = || (0..self.num_workers()).filter_map(|index| self.worker(index).ok());
        no_unwind(|| {
            // Ordering: as in `announce_job_for`.
            fence(Ordering::SeqCst);
            workers().for_each(|worker| _ = self.wake_lone_sleeper(worker));
            // The lone sleepers are woken first and separately, because a protocol that knows of no
            // sleeper might not advance this iterator.
            self.sleep.0.announce_for(workers());
        });
    }

    /// Whether no worker sleeps or is about to, so that a worker need not announce its own jobs.
    #[inline]
    pub(crate) fn all_are_awake(&self) -> bool {
        self.sleep.0.all_are_awake()
    }

    /// Whether a job that its poster runs itself if no thief comes needs no wake-up: either no
    /// worker sleeps, or at least as many are awake as [can make progress](Platform::parallelism).
    #[inline]
    pub(crate) fn enough_are_awake(&self) -> bool {
        self.sleep.0.all_are_awake() || self.fill_the_processors()
    }

    /// Whether at least as many workers are awake as [can make progress](Platform::parallelism).
    pub(crate) fn fill_the_processors(&self) -> bool {
        let awake = self.num_workers().saturating_sub(self.num_sleeping());
        awake >= P::parallelism(self)
    }

    /// Makes each worker ask at its next join whether [enough](Platform::parallelism) workers are
    /// awake. Takes effect eventually. Intended for a platform that now returns a greater number
    /// there.
    ///
    /// # Complexity
    /// One store for each worker that may be awake.
    pub fn reconsider_wakes(&self) {
        // Ordering: pairs with the fence that a worker executes after it has enabled its fast push
        // and before it asks that question. If its fence comes first, our store disables the fast
        // push again. If ours does, its question sees what made the platform's number greater. No
        // weaker fence orders the caller's writes before our stores.
        fence(Ordering::SeqCst);
        let mut any_enabled = false;
        self.any_awake_deque(None, 0, |_, deque| {
            any_enabled |= deque.disable_fast_push();
            false
        });
        // A worker that falls asleep and finds every fast push disabled leaves the process fence to
        // the thread that has disabled them, and what the owners have pushed before it.
        if any_enabled && P::fence_before_sleep(self) && self.has_common_work(None) {
            self.announce_seen_jobs();
        }
    }

    /// Calls `holds` with the number and the deque of each worker that may be awake, until `holds`
    /// returns true. Returns whether it did. `first` is a hint about where to begin.
    ///
    /// A worker that is left out is registered as a sleeper. Its deque was empty when it
    /// registered, unless a guest has left jobs there; the guest then wakes the worker for them.
    /// Its fast push is disabled.
    ///
    /// `caller` is the calling worker, which is not registered as a sleeper, and is skipped.
    #[inline]
    pub(crate) fn any_awake_deque(
        &self,
        caller: Option<WorkerIndex>,
        first: usize,
        mut holds: impl FnMut(usize, &Deque<JobRef, P::Storage>) -> bool,
    ) -> bool {
        // If a panic left this function, the caller could miss a job that others wait for.
        no_unwind(|| {
            self.sleep.0.any_awake(caller, first, |worker| {
                let worker = worker.get();
                // A protocol may give any number.
                let shared = self.workers().get(worker);
                shared.is_some_and(|shared| holds(worker, &shared.deque))
            })
        })
    }

    /// Notes that a thread outside the pool, which has waited for a job, runs again.
    pub(super) fn note_resumed_caller(&self) {
        self.sleep.0.caller_resumed();
    }

    /// Takes over the place of a sleeping worker whose seat is vacant.
    pub(crate) fn borrow_sleeper(&self) -> Option<WorkerIndex> {
        self.sleep.0.borrow_sleeper(|worker| {
            // A protocol may give any number.
            let shared = self.workers().get(worker.get());
            shared.is_some_and(|shared| shared.seat.is_vacant())
        })
    }

    /// Gives back the place of a worker. The worker's own thread counts as asleep again, and is
    /// woken if `has_work` returns true.
    ///
    /// `has_work` is called after the worker has registered as a sleeper, as in
    /// [`IdleSession::no_work_found`].
    pub(crate) fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) {
        no_unwind(|| self.sleep.0.give_back(worker, has_work));
    }

    /// Wakes a worker if it sleeps. Intended for a thread that has set a latch whose waiter sleeps.
    #[inline]
    pub fn wake_worker(&self, worker: WorkerIndex) {
        P::run_cold(ColdPath(Path::WakeWorker(self, worker)));
    }

    pub(crate) fn wake_worker_cold(&self, worker: WorkerIndex) {
        no_unwind(|| self.wake_lone_sleeper(worker) || self.sleep.0.wake_worker(worker));
    }

    /// Sets a latch on which a worker of this pool may be waiting, and wakes the worker if it
    /// sleeps.
    ///
    /// # Safety
    /// 1. `latch` points to a live latch when the call begins. It may die during the call.
    /// 2. Only `worker` waits on the latch.
    /// 3. The registry outlives the call even if the latch does not.
    /// 4. What the worker waits for has happened: see [`CoreLatch::set`].
    #[inline]
    pub unsafe fn set_latch(&self, latch: *const CoreLatch, worker: WorkerIndex) {
        // Before the latch is set, so that the event comes first in a trace.
        #[cfg(feature = "trace")]
        self.note_latch_set(worker);
        // SAFETY: obligations 1 and 4 are forwarded to our caller.
        if unsafe { CoreLatch::set(latch) } {
            self.wake_waiter(worker);
        }
    }

    /// Tells the observer of the calling worker that it sets a latch, if this thread is a worker of
    /// this pool.
    #[cfg(feature = "trace")]
    fn note_latch_set(&self, waiter: WorkerIndex) {
        // SAFETY: 1. the reference is used at once.
        let setter = unsafe { WorkerThread::<P>::current() };
        if let Some(setter) = setter.filter(|it| core::ptr::eq(it.registry(), self)) {
            let waiter = waiter.get();
            setter
                .observer()
                .observe(Event::LatchSet { waiter }, P::now);
        }
    }

    /// Returns the parker of a worker.
    #[inline]
    pub fn parker(&self, worker: WorkerIndex) -> &P::Parker {
        self.sleep.0.parker(worker)
    }

    /// Returns how many workers sleep at this moment. The number may be out of date on return.
    pub fn num_sleeping(&self) -> usize {
        self.sleep.0.num_sleeping() + self.lone_sleepers()
    }

    /// Returns how many workers sleep in isolated waits.
    pub(crate) fn lone_sleepers(&self) -> usize {
        // Ordering: Relaxed, a plain count.
        self.lone_sleepers.load(Ordering::Relaxed)
    }

    /// Notes that a worker begins or ends its sleep in an isolated wait. The sleep protocol does
    /// not know about such a sleep.
    pub(crate) fn note_lone_sleep(&self, begins: bool) {
        // Ordering: Relaxed, a plain count.
        if begins {
            self.lone_sleepers.fetch_add(1, Ordering::Relaxed);
        } else {
            self.lone_sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns how many workers run no job at this moment. The number may be out of date on return.
    pub fn num_inactive(&self) -> usize {
        self.sleep.0.num_inactive()
    }

    /// Begins the search of a worker that has run out of work, or waits for a job that another
    /// worker of the pool is running.
    #[inline]
    pub(crate) fn begin_idle(&self, worker: WorkerIndex, purpose: Purpose) -> IdleSession<'_, P> {
        IdleSession {
            registry: self,
            state: self.sleep.0.start_looking(worker, purpose),
        }
    }
}

/// One worker's search for work, from the moment when it has none until it has some again or its
/// latch is set.
///
/// Must be [ended](Self::end): until then the worker counts as idle.
pub(crate) struct IdleSession<'r, P: Platform> {
    registry: &'r Registry<P>,
    state: <P::Sleep as SleepProtocol>::IdleState,
}

impl<P: Platform> IdleSession<'_, P> {
    /// Reports a fruitless search. Relaxes, or sleeps until there is work or the latch is set.
    ///
    /// `has_work` is called when the worker has registered as a sleeper; it must look at every
    /// source of work, or a job posted there meanwhile is overlooked.
    ///
    /// Returns where the worker looks first, if its protocol gives hints.
    #[inline]
    pub(crate) fn no_work_found(
        &mut self,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> Hint {
        let sleep = &self.registry.sleep.0;
        sleep.no_work_found(&mut self.state, latch, has_work).into()
    }

    /// Reports that the worker has found work, or that its latch is set. Wakes other workers if
    /// they sleep and `more_work` says that there is work for them too.
    #[inline]
    pub(crate) fn end(self, more_work: impl FnOnce() -> bool) {
        self.registry.sleep.0.work_found(self.state, more_work);
    }
}
