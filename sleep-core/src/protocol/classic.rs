#![doc = include_str!("classic/README.md")]

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::{
    index::WorkerIndex,
    latch::CoreLatch,
    policy::{IdlePolicy, Purpose},
    primitive::{AtomicUsize, Ordering, fence},
    protocol::{
        AwakeSet, LendSeats, NewJobs, Origin, SleepProtocol,
        inline::Inline,
        slot::{SlotState, Tenant},
    },
};

mod idle;
mod slot;
mod state;
#[cfg(test)]
mod tests;

pub use idle::IdleState;
pub use slot::{ClassicSlot, ClassicSlots};
pub use state::State;

use idle::Step;
use state::AtomicState;

/// The sleep protocol with one sleepy worker at a time, which wakes all sleepers at once.
///
/// `S` says where the workers' slots are stored, see [`ClassicSlots`].
///
/// # Examples
/// In a `static`, without an initializer:
/// ```
/// use sleep_core::{Classic, ClassicSlot, IdlePolicy, Inline, Parker, SleepProtocol};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFE */ }
///     fn unpark(&self) { /* SEV */ }
/// }
///
/// static SLEEP: Classic<Inline<ClassicSlot<Core>, 4>> =
///     Classic::from_array([const { ClassicSlot::new(Core) }; 4], IdlePolicy::IMMEDIATE);
/// assert!(SLEEP.worker(3).is_ok());
/// assert!(SLEEP.worker(4).is_err());
/// ```
///
/// A worker's loop is the same with every protocol; the crate's front page has it. The proof that
/// no wake-up is lost is on the front page of [this module](crate::protocol::classic).
///
/// Source: rayon's first sleep module, with a slot per worker instead of one mutex and one
/// condition variable, a fence on both sides, and a last look at the queues.
#[doc(alias = "Sleep")]
#[doc(alias = "tickle")]
pub struct Classic<S> {
    state: CachePadded<AtomicState>,
    /// The number of workers that search or sleep. Not on the state's cache line, which posters
    /// read.
    inactive: CachePadded<AtomicUsize>,
    policy: IdlePolicy,
    slots: S,
}

impl<S> Classic<S> {
    const_unless_loom! {
        fn with_parts(slots: S, policy: IdlePolicy) -> Self {
            Self {
                state: CachePadded::new(AtomicState::new()),
                inactive: CachePadded::new(AtomicUsize::new(0)),
                policy,
                slots,
            }
        }
    }
}

impl<P, const N: usize> Classic<Inline<ClassicSlot<P>, N>> {
    const_unless_loom! {
        /// Creates the protocol for workers whose slots are stored in the value itself.
        #[must_use]
        pub fn from_array(slots: [ClassicSlot<P>; N], policy: IdlePolicy) -> Self {
            Self::with_parts(Inline(slots), policy)
        }
    }
}

impl<S: ClassicSlots> Classic<S> {
    /// Creates the protocol for workers whose slots are stored wherever the pool puts them.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::{Classic, ClassicSlot, IdlePolicy, Parker, SleepProtocol};
    ///
    /// struct Thread(std::thread::Thread);
    /// impl Parker for Thread {
    ///     fn park(&self) { std::thread::park() }
    ///     fn unpark(&self) { self.0.unpark() }
    /// }
    ///
    /// let slot = |_| ClassicSlot::new(Thread(std::thread::current()));
    /// let slots: Box<[_]> = (0..3).map(slot).collect();
    /// let sleep: Classic<_> = Classic::new(slots, IdlePolicy::DEFAULT);
    /// assert_eq!(sleep.num_workers(), 3);
    /// ```
    #[must_use]
    pub fn new(slots: S, policy: IdlePolicy) -> Self {
        Self::with_parts(slots, policy)
    }

    /// Returns the workers' slots, in their order.
    #[must_use]
    pub fn slots(&self) -> &[ClassicSlot<S::Parker>] {
        self.slots.slots()
    }

    /// Reads the state at this instant. For debug output and statistics.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.load()
    }

    /// Returns how idle workers behave.
    #[must_use]
    pub fn policy(&self) -> IdlePolicy {
        self.policy
    }
}

impl<S: ClassicSlots> SleepProtocol for Classic<S> {
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

    fn start_looking(&self, worker: WorkerIndex, _purpose: Purpose) -> IdleState {
        self.slots()[worker.get()].state().search().begin(worker);
        // Ordering: Relaxed, a plain count; no decision rests on it.
        self.inactive.fetch_add(1, Ordering::Relaxed);
        IdleState::new(worker)
    }

    /// Relaxes, gets sleepy, or sleeps, as the policy says. While another worker is sleepy, this
    /// one stays at the threshold and relaxes.
    #[inline]
    fn no_work_found(
        &self,
        idle: &mut IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        self.slots()[idle.worker.get()]
            .state()
            .search()
            .go_on(idle.worker);
        match idle.next_step(self.policy) {
            Step::Relax => self.relax(idle.worker),
            Step::GetSleepy => self.get_sleepy(idle),
            Step::StaySleepy => self.stay_sleepy(idle),
            Step::Sleep => self.sleep(idle, latch, has_work),
        }
    }

    /// Makes the worker awake if it is the sleepy one. Does not ask `more_work`: a poster wakes all
    /// sleepers, so it leaves nothing to a worker that searches.
    #[inline]
    fn work_found(&self, idle: IdleState, _more_work: impl FnOnce() -> bool) {
        self.slots()[idle.worker.get()]
            .state()
            .search()
            .end(idle.worker);
        if idle.has_got_sleepy() {
            self.state.stop_being_sleepy(idle.worker);
        }
        // Ordering: Relaxed, as in `start_looking`.
        self.inactive.fetch_sub(1, Ordering::Relaxed);
    }

    /// Makes the sleepy worker awake and wakes all sleepers, whatever the number of jobs, unless
    /// there are none. For internal jobs without the fence: while no worker is sleepy or asleep,
    /// that is one load and one comparison.
    #[doc(alias = "tickle")]
    #[inline]
    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        match jobs.origin {
            Origin::Internal => self.tickle(jobs.count),
            Origin::Injected => self.fence_and_tickle(jobs.count),
        }
    }

    /// Executes one fence for all.
    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `sleep`: either the slot is
        // open for us, or its `has_work` sees the job. Nothing weaker orders the caller's writes
        // of its queues, which were all before this, and our look at the slots.
        fence(Ordering::SeqCst);
        workers.into_iter().for_each(|worker| {
            self.wake_worker(worker);
        });
    }

    #[inline]
    fn all_are_awake(&self) -> bool {
        self.state.all_are_awake()
    }

    /// Wakes this worker alone. The state keeps saying that workers are asleep until the next
    /// tickle: only a thread that wakes all of them may clear it.
    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let slot = self.slots()[worker.get()].state();
        let claimed = slot.claim_known_sleeper();
        if claimed {
            slot.release_and_unpark();
        }
        claimed
    }

    fn num_inactive(&self) -> usize {
        // Ordering: Relaxed; debug output only.
        self.inactive.load(Ordering::Relaxed)
    }

    /// Looks at every slot, so the cost is linear in the number of workers.
    fn num_sleeping(&self) -> usize {
        let is_asleep = |slot: &&ClassicSlot<S::Parker>| slot.state().is_asleep();
        self.slots().iter().filter(is_asleep).count()
    }
}

impl<S: ClassicSlots> Classic<S> {
    fn fence_and_tickle(&self, count: usize) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `sleep`: orders the caller's
        // write of its queue before our read of the state, which no acquire or release can.
        fence(Ordering::SeqCst);
        self.tickle(count);
    }

    /// Makes the sleepy worker awake and wakes all sleepers, if there are jobs.
    #[inline]
    fn tickle(&self, count: usize) {
        if !self.state.all_are_awake() {
            self.tickle_cold(count);
        }
    }

    #[cold]
    fn tickle_cold(&self, count: usize) {
        if count == 0 || !self.state.strip() {
            return;
        }
        // Each worker that has registered as asleep before the exchange has opened its slot before:
        // `strip` acquires that. The workers that register later say so in the state again.
        for slot in self.slots().iter().map(ClassicSlot::state) {
            if slot.claim() {
                slot.release_and_unpark();
            }
        }
    }

    fn relax(&self, worker: WorkerIndex) {
        self.policy.relax().relax(self.parker(worker));
    }

    #[cold]
    fn get_sleepy(&self, idle: &mut IdleState) {
        if self.state.get_sleepy(idle.worker) {
            idle.got_sleepy();
        } else {
            // Liveness: the sleepy worker finds work, falls asleep, or is stripped by a tickle.
            // Until then this worker searches on, and sleeps through nothing.
            self.relax(idle.worker);
        }
    }

    #[cold]
    fn stay_sleepy(&self, idle: &mut IdleState) {
        if self.state.is_sleepy(idle.worker) {
            self.relax(idle.worker);
        } else {
            idle.wake();
        }
    }

    #[cold]
    fn sleep(&self, idle: &mut IdleState, latch: &CoreLatch, has_work: impl FnOnce() -> bool) {
        if !latch.get_sleepy() {
            return;
        }
        let slot = self.slots()[idle.worker.get()].state();
        // The slot is open before the state says that workers are asleep, and before the latch says
        // SLEEPING. So a thread that reads either finds the slot open.
        let tenant = slot.open();
        let registered = self.state.fall_asleep(idle.worker);
        idle.wake();
        if !registered {
            latch.wake_up();
            Self::turn_back(slot, tenant);
            return;
        }
        if !latch.fall_asleep() {
            Self::turn_back(slot, tenant);
            return;
        }

        // Ordering: the sleeper's fence. Pairs with the poster's (`fence_and_tickle`,
        // `announce_for`): of two fences one comes first. If it is the poster's, its job is visible
        // to `has_work`. If it is this one, our registration and our open slot are visible to the
        // poster. Nothing weaker orders our writes before our reads.
        fence(Ordering::SeqCst);
        if has_work() {
            latch.wake_up();
            Self::turn_back(slot, tenant);
            return;
        }

        // Liveness: the slot is open and the state says that workers are asleep, so from here on
        // the next poster of work or the setter of the latch claims and unparks us. The
        // poster sees the state, or another tickle has seen it and wakes all; or it came
        // before our fence, and then `has_work` said so. The setter sees SLEEPING. A
        // wake-up is not too early either: the token outlasts the time until we park, and
        // we leave only when the slot says awake.
        slot.park_until_awake(tenant);
        latch.wake_up();
    }

    /// Closes the slot of a worker that does not sleep after all. If a waker has already claimed
    /// the worker, waits for that waker instead. The state goes on to say that workers are
    /// asleep.
    fn turn_back(slot: &SlotState<S::Parker>, tenant: Tenant) {
        if slot.close(tenant) {
            return;
        }
        // Liveness: the waker that claimed the slot releases it and then unparks, without
        // waiting for anything.
        slot.park_until_awake(tenant);
    }
}

impl<S: ClassicSlots> LendSeats for Classic<S> {}

impl<S: ClassicSlots> AwakeSet for Classic<S> {}

impl<S> fmt::Debug for Classic<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Classic")
            .field("state", &self.state.load())
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
