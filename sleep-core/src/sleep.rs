//! The protocol: when a worker sleeps, and who wakes it.

use core::{fmt, marker::PhantomData};

use crossbeam_utils::CachePadded;

use crate::{
    counters::{AtomicCounters, Counters, DefaultWidths, JobsEventCounter, Widths},
    idle::{IdlePolicy, IdleState, Relax, Step},
    index::{TooManyWorkers, UnknownWorker, WorkerIndex},
    latch::CoreLatch,
    parker::Parker,
    primitive::{Ordering, fence, spin_loop},
    slot::Slot,
};

#[cfg(test)]
mod tests;

/// Decides when the workers of a pool sleep, and wakes them.
///
/// Brings no threads and no queues. The pool calls it at five points:
///
/// | when | call |
/// | --- | --- |
/// | a worker begins to search for work | [`start_looking`](Self::start_looking) |
/// | a search was fruitless | [`no_work_found`](Self::no_work_found), which may sleep |
/// | the worker stops searching: it has work, or its latch is set | [`work_found`](Self::work_found) |
/// | jobs were queued | [`new_injected_jobs`](Self::new_injected_jobs), [`new_internal_jobs`](Self::new_internal_jobs) or [`new_job_for`](Self::new_job_for) |
/// | a latch was set whose waiter sleeps | [`wake_worker`](Self::wake_worker) |
///
/// `P` is the [`Parker`]; `S` is where the workers' [`Slot`]s are, anything that is
/// `AsRef<[Slot<P>]>` and always gives the same slice: an array, a borrowed slice, a box. If it gives
/// others, or another instance uses the same slots, wake-ups are lost or calls panic, and nothing
/// worse: no memory safety rests on it. `W` sets the widths of the counters.
///
/// # Examples
/// In a `static`, without an initialiser:
/// ```
/// use sleep_core::{IdlePolicy, Parker, Sleep, Slot};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFE */ }
///     fn unpark(&self) { /* SEV */ }
/// }
///
/// static SLEEP: Sleep<Core, [Slot<Core>; 4]> =
///     Sleep::from_array([const { Slot::new(Core) }; 4], IdlePolicy::IMMEDIATE);
/// assert!(SLEEP.worker(3).is_ok());
/// assert!(SLEEP.worker(4).is_err());
/// ```
///
/// The crate's front page has a worker's whole loop; the proof that no wake-up is lost is there
/// as well.
///
/// Source: rayon RFC 5 and Blitz, with a lock-free hand-over in place of a mutex a worker.
pub struct Sleep<P, S = &'static [Slot<P>], W: Widths = DefaultWidths> {
    counters: CachePadded<AtomicCounters<W>>,
    policy: IdlePolicy,
    slots: S,
    parker: PhantomData<fn() -> P>,
}

impl<P, const N: usize, W: Widths> Sleep<P, [Slot<P>; N], W> {
    const_unless_loom! {
        /// For workers whose slots live in the value itself.
        ///
        /// That the counters can count `N` workers is checked when the program is compiled.
        #[must_use]
        pub fn from_array(slots: [Slot<P>; N], policy: IdlePolicy) -> Self {
            const { assert!(N <= AtomicCounters::<W>::MAX_THREADS, "too many workers") };
            Self {
                counters: CachePadded::new(AtomicCounters::new()),
                policy,
                slots,
                parker: PhantomData,
            }
        }
    }
}

impl<'a, P, W: Widths> Sleep<P, &'a [Slot<P>], W> {
    const_unless_loom! {
        /// For workers whose slots live elsewhere.
        ///
        /// # Errors
        /// [`TooManyWorkers`] if the counters cannot count them.
        pub fn from_slice(
            slots: &'a [Slot<P>],
            policy: IdlePolicy,
        ) -> Result<Self, TooManyWorkers> {
            if slots.len() > AtomicCounters::<W>::MAX_THREADS {
                return Err(TooManyWorkers {
                    requested: slots.len(),
                    maximum: AtomicCounters::<W>::MAX_THREADS,
                });
            }
            Ok(Self {
                counters: CachePadded::new(AtomicCounters::new()),
                policy,
                slots,
                parker: PhantomData,
            })
        }
    }
}

impl<P: Parker, S: AsRef<[Slot<P>]>, W: Widths> Sleep<P, S, W> {
    /// For workers whose slots live wherever the pool puts them.
    ///
    /// # Errors
    /// [`TooManyWorkers`] if the counters cannot count them.
    pub fn new(slots: S, policy: IdlePolicy) -> Result<Self, TooManyWorkers> {
        let requested = slots.as_ref().len();
        let maximum = AtomicCounters::<W>::MAX_THREADS;
        if requested > maximum {
            return Err(TooManyWorkers { requested, maximum });
        }
        Ok(Self {
            counters: CachePadded::new(AtomicCounters::new()),
            policy,
            slots,
            parker: PhantomData,
        })
    }

    /// The worker with this number, from 0.
    ///
    /// # Errors
    /// [`UnknownWorker`] if there are not so many.
    pub fn worker(&self, index: usize) -> Result<WorkerIndex, UnknownWorker> {
        let workers = self.slots().len();
        if index < workers {
            Ok(WorkerIndex::new(index))
        } else {
            Err(UnknownWorker { index, workers })
        }
    }

    /// The workers' slots, in their order.
    #[must_use]
    pub fn slots(&self) -> &[Slot<P>] {
        self.slots.as_ref()
    }

    /// The counters at this instant, for a look from outside.
    #[must_use]
    pub fn counters(&self) -> Counters<W> {
        self.counters.load()
    }

    /// How idle workers behave.
    #[must_use]
    pub fn policy(&self) -> IdlePolicy {
        self.policy
    }

    /// A worker begins to search for work: it counts as inactive until
    /// [`work_found`](Self::work_found).
    pub fn start_looking(&self, worker: WorkerIndex) -> IdleState {
        self.counters.add_inactive_thread();
        IdleState::new(worker)
    }

    /// A worker stops searching, because it found work or because its latch is set.
    ///
    /// `more_work` says whether a queue holds work for others; it is asked only when somebody
    /// sleeps. Then up to two sleepers are woken: whoever posted work while this worker was
    /// searching may have woken nobody, counting on it (the cascade).
    ///
    /// Call it before running the job.
    #[inline]
    pub fn work_found(&self, more_work: impl FnOnce() -> bool) {
        let sleepers_to_wake = self.counters.sub_inactive_thread();
        if sleepers_to_wake > 0 {
            self.cascade(sleepers_to_wake, more_work);
        }
    }

    #[cold]
    fn cascade(&self, sleepers_to_wake: usize, more_work: impl FnOnce() -> bool) {
        // Ordering: pairs with the fence in `new_injected_jobs`. Either that poster reads the
        // counters without this worker among the idle ones, and wakes a sleeper itself; or its
        // job is visible to `more_work`. No weaker fence orders our write of the counters before
        // our reads of the queues.
        fence(Ordering::SeqCst);
        if more_work() {
            self.wake_any(sleepers_to_wake);
        }
    }

    /// A worker has searched all sources of work and found none. Relaxes, gets sleepy, or sleeps,
    /// as the policy says. The worker then searches again, unless its latch is set.
    ///
    /// `latch` is what the worker waits for: setting it ends the sleep. `has_work` says whether
    /// any source holds work. It is called after the worker has been registered as asleep and
    /// must look at every source, or a job posted there meanwhile sleeps as well.
    #[inline]
    pub fn no_work_found(
        &self,
        idle: &mut IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        match idle.next_step(self.policy) {
            Step::Relax => self.relax(idle.worker),
            Step::GetSleepy => idle.got_sleepy(self.counters.make_jec_sleepy()),
            Step::Sleep(jec) => self.sleep(idle, jec, latch, has_work),
        }
    }

    fn relax(&self, worker: WorkerIndex) {
        match self.policy.relax() {
            Relax::Spin(times) => (0..times).for_each(|_| spin_loop()),
            Relax::Yield => self.slots()[worker.get()].parker().relax(),
        }
    }

    #[cold]
    fn sleep(
        &self,
        idle: &mut IdleState,
        sleepy_jec: JobsEventCounter,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        let slot = &self.slots()[idle.worker.get()];
        if !latch.get_sleepy() {
            return;
        }

        // Register, unless work was posted since this worker got sleepy.
        let mut counters = self.counters.load();
        loop {
            if counters.jec() != sleepy_jec {
                latch.wake_up();
                idle.wake_partly(self.policy);
                return;
            }
            match self.counters.try_add_sleeping_thread(counters) {
                Ok(()) => break,
                Err(now) => counters = now,
            }
        }
        slot.open();

        // The slot is open before the latch says SLEEPING, so whoever sets it from there finds
        // the slot open.
        if !latch.fall_asleep() {
            self.turn_back(slot);
            idle.wake_fully();
            return;
        }

        // Ordering: the sleeper's fence. Pairs with the poster's (`new_injected_jobs`,
        // `wake_any`): of two fences one comes first. If the poster's, its job is visible to
        // `has_work`. If this one, our registration and our open slot are visible to the poster.
        // Nothing weaker orders our writes before our reads.
        fence(Ordering::SeqCst);
        if has_work() {
            latch.wake_up();
            self.turn_back(slot);
            idle.wake_partly(self.policy);
            return;
        }

        // Liveness: the slot is open, so from here on the next poster of work (it sees the
        // sleeping count or came before our fence, and then `has_work` said so) or the setter of
        // the latch (it sees SLEEPING) claims and unparks us. Not too early either: the token
        // outlasts the time until we park, and we leave only when the slot says awake.
        while !slot.is_awake() {
            slot.parker().park();
        }
        latch.wake_up();
        idle.wake_fully();
    }

    /// Undoes a registration: by oneself, or, if a waker has claimed it already, by waiting for
    /// that waker.
    fn turn_back(&self, slot: &Slot<P>) {
        if slot.close() {
            self.counters.sub_sleeping_thread();
            return;
        }
        // Liveness: the waker that claimed the slot releases it and then unparks, without
        // waiting for anything.
        while !slot.is_awake() {
            slot.parker().park();
        }
    }

    /// Jobs were queued from outside the pool. No such job is overlooked, whatever the jobs event
    /// counter does.
    ///
    /// `queue_was_empty` says whether the queue was empty before. If not, the idle workers are
    /// not keeping up, and sleepers are woken for all the new jobs; if it was, only for as many
    /// as there are no idle workers for.
    ///
    /// Call it after queueing. Never blocks; may be called from an interrupt.
    pub fn new_injected_jobs(&self, count: usize, queue_was_empty: bool) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `sleep` and with the one in
        // `cascade`: orders the caller's write of its queue before our read of the counters,
        // which no acquire or release can.
        fence(Ordering::SeqCst);
        self.new_internal_jobs(count, || queue_was_empty);
    }

    /// Whether nobody sleeps or is about to: then new jobs of a worker's own need not be announced.
    /// One load.
    #[inline]
    #[must_use]
    pub fn all_are_awake(&self) -> bool {
        self.counters.all_are_awake()
    }

    /// Jobs were queued by a worker of the pool on its own queue.
    ///
    /// As [`new_injected_jobs`](Self::new_injected_jobs) without the fence. In a rare race a
    /// sleeper overlooks the job. The worker that queued it runs it nevertheless, with less
    /// parallelism than possible until the next wake-up; so this is for a worker that stays until
    /// the job has been run, as in a join.
    ///
    /// While nobody is sleepy or asleep, this is one load, and `queue_was_empty` is not asked.
    #[inline]
    pub fn new_internal_jobs(&self, count: usize, queue_was_empty: impl FnOnce() -> bool) {
        if !self.all_are_awake() {
            self.new_jobs_while_some_sleep(count, queue_was_empty());
        }
    }

    #[cold]
    fn new_jobs_while_some_sleep(&self, count: usize, queue_was_empty: bool) {
        let counters = self.counters.increment_jec_if_sleepy();
        if counters.sleeping() > 0 {
            self.wake_for_jobs(counters, count, queue_was_empty);
        }
    }

    /// A job was queued that only `worker` may run. It is not overlooked.
    ///
    /// Call it after queueing. `has_work` of that worker must look at that queue.
    pub fn new_job_for(&self, worker: WorkerIndex) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `sleep`: either the slot is
        // open for us, or its `has_work` sees the job. Nothing weaker orders the caller's write
        // of its queue before our look at the slot.
        fence(Ordering::SeqCst);
        self.wake_worker(worker);
    }

    fn wake_for_jobs(&self, counters: Counters<W>, count: usize, queue_was_empty: bool) {
        let helped = if queue_was_empty {
            counters.awake_but_idle()
        } else {
            0
        };
        self.wake_any(count.saturating_sub(helped).min(counters.sleeping()));
    }

    /// Wakes up to `count` sleeping workers, whichever they are. Returns how many.
    ///
    /// Work that the caller queued before is not overlooked: a worker that is on its way to sleep, and
    /// is not woken, sees it in its last look.
    ///
    /// Looks at every slot once at most: linear in the number of workers.
    pub fn wake_any(&self, count: usize) -> usize {
        if count == 0 {
            return 0;
        }
        // Ordering: pairs with the sleeper's fence in `sleep`. A worker that has counted itself
        // but not opened its slot yet is passed over below; then its fence comes after this one
        // and its `has_work` sees the work that the caller queued. No weaker fence orders that
        // queueing before our reads of the slots.
        fence(Ordering::SeqCst);
        let mut woken = 0;
        for slot in self.slots() {
            if slot.claim() {
                self.wake_claimed(slot);
                woken += 1;
                if woken == count {
                    break;
                }
            }
        }
        woken
    }

    /// Wakes this worker if it sleeps. True if it did and nobody else was waking it.
    ///
    /// For the setter of a latch that said SLEEPING.
    pub fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let slot = &self.slots()[worker.get()];
        let claimed = slot.claim_known_sleeper();
        if claimed {
            self.wake_claimed(slot);
        }
        claimed
    }

    fn wake_claimed(&self, slot: &Slot<P>) {
        self.counters.sub_sleeping_thread();
        slot.release();
        slot.parker().unpark();
    }

    /// Sets a latch on which `worker` may be waiting, and wakes it if it sleeps.
    ///
    /// # Safety
    /// 1. `latch` points to a live latch when the call begins. It may die during the call.
    /// 2. Only `worker` waits on it.
    /// 3. This `Sleep` outlives the call even if `latch` does not.
    pub unsafe fn set_latch(&self, latch: *const CoreLatch, worker: WorkerIndex) {
        // SAFETY: 1. is handed on.
        if unsafe { CoreLatch::set(latch) } {
            self.wake_worker(worker);
        }
    }
}

impl<P, S, W: Widths> fmt::Debug for Sleep<P, S, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("counters", &*self.counters)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
