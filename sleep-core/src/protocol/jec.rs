#![doc = include_str!("jec/README.md")]

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::{
    index::{TooManyWorkers, WorkerIndex},
    latch::CoreLatch,
    policy::{IdlePolicy, Purpose, Step, WakeTime},
    primitive::{Ordering, fence},
    protocol::{NewJobs, Origin, SleepProtocol, inline::Inline},
};

mod awake;
mod counters;
mod slot;
#[cfg(test)]
mod tests;
mod wake;
mod widths;

pub use awake::IdleState;
pub use counters::{Counters, JobsEventCounter};
pub use slot::{Slot, Slots};
#[cfg(test)]
pub(crate) use widths::Widths;

use counters::AtomicCounters;
use wake::Sleepers;
#[cfg(not(test))]
use widths::Widths;

/// The sleep protocol with a jobs event counter.
///
/// `S` determines where the workers' slots are stored, see [`Slots`]. `I` is the [`IdlePolicy`], or
/// a type that [always gives the same one](IdlePolicy#fixed-when-the-program-is-compiled).
///
/// # Examples
/// In a `static`, without an initializer:
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, SleepProtocol, Slot};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFE */ }
///     fn unpark(&self) { /* SEV */ }
/// }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 4>> =
///     Jec::from_array([const { Slot::new(Core) }; 4], IdlePolicy::IMMEDIATE);
/// assert!(SLEEP.worker(3).is_ok());
/// assert!(SLEEP.worker(4).is_err());
/// ```
///
/// The crate's front page has a worker's whole loop. The proof that no wake-up is lost is on the
/// front page of [this module](crate::protocol::jec).
///
/// Source: rayon RFC 5 and Blitz, with a lock-free hand-over instead of a mutex per worker.
#[doc(alias = "Sleep")]
pub struct Jec<S, I = IdlePolicy> {
    shared: CachePadded<Shared>,
    policy: I,
    /// When a thread outside the pool last resumed after waiting for a job.
    resumed: WakeTime,
    slots: S,
}

/// What all workers write when they fall asleep or wake up, on one line.
struct Shared {
    counters: AtomicCounters,
    sleepers: Sleepers,
}

impl<S, I> Jec<S, I> {
    const_unless_loom! {
        fn with_parts(slots: S, policy: I, widths: Widths) -> Self {
            Self {
                shared: CachePadded::new(Shared {
                    counters: AtomicCounters::new(widths),
                    sleepers: Sleepers::new(widths),
                }),
                policy,
                resumed: WakeTime::new(),
                slots,
            }
        }
    }
}

impl<P, const N: usize, I> Jec<Inline<Slot<P>, N>, I> {
    const_unless_loom! {
        /// Creates the protocol for workers whose slots are stored in the value itself.
        ///
        /// Whether the counters can count `N` workers is checked when the program is compiled.
        #[must_use]
        pub fn from_array(slots: [Slot<P>; N], policy: I) -> Self {
            const { assert!(N <= AtomicCounters::MAX_THREADS, "too many workers") };
            Self::with_parts(Inline(slots), policy, Widths::DEFAULT)
        }
    }
}

impl<S: Slots, I: AsRef<IdlePolicy>> Jec<S, I> {
    /// Creates the protocol for workers whose slots are stored wherever the pool puts them.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::{IdlePolicy, Jec, Parker, SleepProtocol, Slot};
    ///
    /// struct Thread(std::thread::Thread);
    /// impl Parker for Thread {
    ///     fn park(&self) { std::thread::park() }
    ///     fn unpark(&self) { self.0.unpark() }
    /// }
    ///
    /// let slots: Box<[_]> = (0..3).map(|_| Slot::new(Thread(std::thread::current()))).collect();
    /// let sleep: Jec<_> = Jec::new(slots, IdlePolicy::DEFAULT)?;
    /// assert_eq!(sleep.num_workers(), 3);
    /// # Ok::<(), sleep_core::TooManyWorkers>(())
    /// ```
    ///
    /// # Errors
    /// [`TooManyWorkers`] if the counters cannot count them.
    pub fn new(slots: S, policy: I) -> Result<Self, TooManyWorkers> {
        let maximum = AtomicCounters::MAX_THREADS;
        TooManyWorkers::unless_at_most(maximum, slots.slots().len())?;
        Ok(Self::with_parts(slots, policy, Widths::DEFAULT))
    }

    /// Creates the protocol with narrower counters.
    #[cfg(test)]
    pub(crate) fn with_widths(slots: S, policy: I, widths: Widths) -> Result<Self, TooManyWorkers> {
        TooManyWorkers::unless_at_most(widths.max_threads(), slots.slots().len())?;
        Ok(Self::with_parts(slots, policy, widths))
    }

    /// Returns the workers' slots, in their order.
    #[must_use]
    pub fn slots(&self) -> &[Slot<S::Parker>] {
        self.slots.slots()
    }

    /// Reads the counters at this instant. For debug output and statistics.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.counters.load()
    }

    /// Returns how idle workers behave.
    #[must_use]
    pub fn policy(&self) -> IdlePolicy {
        *self.policy.as_ref()
    }
}

impl<S: Slots, I: AsRef<IdlePolicy>> SleepProtocol for Jec<S, I> {
    type Parker = S::Parker;
    type IdleState = IdleState;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.slots().len()
    }

    #[inline]
    fn parker(&self, worker: WorkerIndex) -> &S::Parker {
        self.slots()[worker.get()].parker()
    }

    /// Does rounds if the limit on searchers leaves room for this worker. One that waits for a job
    /// does rounds whatever the limit, and counts as a searcher for others.
    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> IdleState {
        self.begin_search(worker, purpose)
    }

    /// Relaxes, gets sleepy, or sleeps, as the policy says.
    #[inline]
    fn no_work_found(
        &self,
        idle: &mut IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        let slot = &self.slots()[idle.worker.get()];
        slot.state().search().go_on(idle.worker);
        let policy = self.policy.as_ref();
        idle.search.begins_after(&self.resumed, slot.parker());
        match idle.search.next_step(policy, slot.history(), slot.parker()) {
            Step::Relax => policy.relax().relax(slot.parker()),
            Step::GetSleepy => {
                let jec = self.shared.counters.make_jec_sleepy();
                idle.search.got_sleepy(jec, policy);
                // Getting sleepy was one of the sleepy worker's rounds.
                idle.search.count_sleepy_round();
            }
            Step::Sleep(jec) => self.sleep(idle, jec, latch, has_work),
        }
    }

    /// If workers sleep, and few are awake and idle, asks `more_work`, and wakes up to two workers
    /// for it (the cascade): a poster that came while this worker was searching may have counted on
    /// it and woken none.
    #[inline]
    fn work_found(&self, idle: IdleState, more_work: impl FnOnce() -> bool) {
        let worker = idle.worker.get();
        let slot = &self.slots()[worker];
        slot.state().search().end(idle.worker);
        idle.search.end(self.policy.as_ref(), slot.history());
        let counters = self.shared.counters.sub_inactive_thread();
        if counters.sleeping() > 0 {
            self.cascade(worker, counters, more_work);
        }
    }

    /// Wakes a sleeper for each job. If the queue was empty, each worker that is awake and idle
    /// takes one job, which needs no sleeper. Wakes none while
    /// [enough](IdlePolicy::enough_idle) workers are awake and idle, since those wake others. No
    /// injected job is overlooked, whatever the jobs event counter does.
    ///
    /// For internal jobs there is a fence only if workers are sleepy or asleep. While none is, this
    /// is one load, and `queue_was_empty` is not asked.
    #[inline]
    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        match jobs.origin {
            Origin::Internal => {
                if !self.all_are_awake() {
                    self.fence_and_wake_for_jobs(jobs.count, (jobs.queue_was_empty)());
                }
            }
            Origin::Injected => self.announce_injected(jobs.count, (jobs.queue_was_empty)()),
        }
    }

    /// Executes one fence for all, and looks at no slot while no worker sleeps.
    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `park`: either the slot is open
        // for us, or its `has_work` sees the job. Nothing weaker orders the caller's writes of its
        // queues, which were all before this, and our look at the slots. A worker counts itself as
        // sleeping before it opens its slot and before its own fence, so the same holds for the
        // count. A count of zero means that each worker that has slept was claimed, and looks at
        // its queue when it is awake.
        fence(Ordering::SeqCst);
        if self.shared.counters.load().sleeping() == 0 {
            return;
        }
        for worker in workers {
            if self.slots()[worker.get()].state().claim() {
                self.wake_claimed(worker.get());
            }
        }
    }

    #[inline]
    fn all_are_awake(&self) -> bool {
        self.shared.counters.all_are_awake()
    }

    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let claimed = self.slots()[worker.get()].state().claim_known_sleeper();
        if claimed {
            self.wake_claimed(worker.get());
        }
        claimed
    }

    fn num_inactive(&self) -> usize {
        self.counters().inactive()
    }

    fn num_sleeping(&self) -> usize {
        self.counters().sleeping()
    }
}

impl<S: Slots, I: AsRef<IdlePolicy>> Jec<S, I> {
    #[cold]
    fn sleep(
        &self,
        idle: &mut IdleState,
        sleepy_jec: JobsEventCounter,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        if !latch.get_sleepy() {
            return;
        }
        let worker = idle.worker.get();
        let has_slept = self.park(worker, sleepy_jec, latch, has_work);
        latch.wake_up();
        if has_slept {
            let (policy, slot) = (self.policy.as_ref(), &self.slots()[worker]);
            self.note_awake_after_sleep(idle.worker);
            idle.search.begins_after(&self.resumed, slot.parker());
            idle.search
                .note_slept(policy, slot.history(), slot.wake_time(), slot.parker());
        } else {
            idle.search.turn_back();
        }
    }

    /// Registers the worker as a sleeper and parks it until it is woken. Returns false if there is
    /// a reason to stay awake; then the worker is registered no longer.
    fn park(
        &self,
        worker: usize,
        sleepy_jec: JobsEventCounter,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> bool {
        let slot = self.slots()[worker].state();
        let Shared { counters, sleepers } = &*self.shared;
        // Register, unless work was posted since this worker got sleepy.
        if counters.try_add_sleeping_thread(sleepy_jec).is_err() {
            return false;
        }
        // Before the slot is open, so that the bit of an open slot is set.
        sleepers.add(self.slots(), worker);
        let tenant = slot.open();

        // The slot is open before the latch says SLEEPING, so a thread that sets the latch from
        // then on finds the slot open.
        let is_set = !latch.fall_asleep();
        // Ordering: the sleeper's fence. Pairs with the poster's (`announce_injected`,
        // `fence_and_wake_for_jobs`, `announce_for`): of two fences one comes first. If
        // it is the poster's, its job is visible to `has_work`. If it is this one, our registration
        // and our open slot are visible to the poster. Nothing weaker orders our writes before our
        // reads.
        //
        // It also pairs with the fence of `give_back`. If the latch is set, its setter may have
        // seen SLEEPY, and wakes no thread. Then a guest that has had the slot meanwhile sees the
        // latch set, and wakes this worker; or this fence is the second one, and `close` finds the
        // slot open. Otherwise `close` could fail on an outdated state, since a failed exchange is
        // only a load.
        fence(Ordering::SeqCst);
        let sleeps = !is_set && !has_work();
        if !sleeps && slot.close(tenant) {
            sleepers.remove(self.slots(), worker);
            counters.sub_sleeping_thread();
            return false;
        }

        // Liveness: if the slot is open, then from here on the next poster of work or the setter of
        // the latch claims and unparks us. The poster sees the sleeping count, or it came
        // before our fence, and then `has_work` said so; the setter sees SLEEPING. A
        // wake-up is not too early either: the token outlasts the time until we park, and
        // we leave only when the slot says awake.
        //
        // If a waker has claimed the slot before we could close it, that waker releases it and then
        // unparks, without waiting for anything. So does a guest that has taken the slot
        // over: it gives the slot back, and wakes this worker, because the worker's owner
        // finds that it was not ready to lend its place.
        slot.park_until_awake(tenant);
        sleeps
    }
}

impl<S, I: AsRef<IdlePolicy>> fmt::Debug for Jec<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jec")
            .field("counters", &self.shared.counters)
            .field("policy", self.policy.as_ref())
            .finish_non_exhaustive()
    }
}
