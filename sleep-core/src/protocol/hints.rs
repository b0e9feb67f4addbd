#![doc = include_str!("hints/README.md")]

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::{
    index::{TooManyWorkers, WorkerIndex},
    latch::CoreLatch,
    parker::Parker as _,
    policy::{IdlePolicy, Purpose, Step},
    primitive::{Ordering, fence, spin_loop},
    protocol::{AwakeSet, LendSeats, NewJobs, Origin, SleepProtocol, hint::Hint, inline::Inline},
};

mod channel;
mod count;
mod idle;
mod sleeper;
mod slot;
#[cfg(test)]
mod tests;

pub use channel::{ArrayChannel, ChannelFull, HintChannel};
pub use idle::IdleState;
pub use slot::{HintSlot, HintSlots};

use count::SleeperCount;
use slot::Claim;

/// The greatest number of workers: their numbers fit into a [`Hint`], and their count into a signed
/// word.
const MAX_WORKERS: usize = if usize::BITS < 32 {
    isize::MAX.cast_unsigned()
} else {
    u16::MAX as usize
};

/// The sleep protocol whose count of sleepers may be negative, and whose wake-ups say where the
/// work is.
///
/// `S` determines where the workers' slots are stored, see [`HintSlots`]. Each has a
/// channel, a [`HintChannel`]: an [`ArrayChannel`] beside any parker, or a parker that carries
/// hints itself.
/// `I` is the [`IdlePolicy`], or a type that [always gives the same
/// one](IdlePolicy#fixed-when-the-program-is-compiled).
///
/// # Examples
/// In a `static`, without an initializer:
/// ```
/// use sleep_core::{ArrayChannel, HintSlot, Hints, IdlePolicy, Inline, Parker, SleepProtocol};
///
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) { /* WFE */ }
///     fn unpark(&self) { /* SEV */ }
/// }
///
/// type Slot = HintSlot<ArrayChannel<Core>>;
/// static SLEEP: Hints<Inline<Slot, 4>> = Hints::from_array(
///     [const { Slot::new(ArrayChannel::new(Core)) }; 4],
///     IdlePolicy::IMMEDIATE,
/// );
/// assert!(SLEEP.worker(3).is_ok());
/// assert!(SLEEP.worker(4).is_err());
/// ```
///
/// The crate's front page has a worker's whole loop. The proof that no wake-up is lost is on the
/// front page of [this module](crate::protocol::hints).
///
/// Source: the pipe sleep strategy of EMPER.
pub struct Hints<S, I = IdlePolicy> {
    sleepers: CachePadded<SleeperCount>,
    policy: I,
    slots: S,
}

impl<S, I> Hints<S, I> {
    const_unless_loom! {
        fn with_parts(slots: S, policy: I) -> Self {
            Self {
                sleepers: CachePadded::new(SleeperCount::new()),
                policy,
                slots,
            }
        }
    }
}

impl<C, const N: usize, I> Hints<Inline<HintSlot<C>, N>, I> {
    const_unless_loom! {
        /// Creates the protocol for workers whose slots are stored in the value itself.
        ///
        /// Their number is checked when the program is compiled.
        #[must_use]
        pub fn from_array(slots: [HintSlot<C>; N], policy: I) -> Self {
            const { assert!(N <= MAX_WORKERS, "too many workers") };
            Self::with_parts(Inline(slots), policy)
        }
    }
}

impl<S: HintSlots, I: AsRef<IdlePolicy>> Hints<S, I> {
    /// Creates the protocol for workers whose slots are stored wherever the pool puts them.
    ///
    /// # Examples
    /// ```
    /// use sleep_core::{ArrayChannel, HintSlot, Hints, IdlePolicy, Parker, SleepProtocol};
    ///
    /// struct Thread(std::thread::Thread);
    /// impl Parker for Thread {
    ///     fn park(&self) { std::thread::park() }
    ///     fn unpark(&self) { self.0.unpark() }
    /// }
    ///
    /// let channel = || ArrayChannel::<_>::new(Thread(std::thread::current()));
    /// let slots: Box<[_]> = (0..3).map(|_| HintSlot::new(channel())).collect();
    /// let sleep: Hints<_> = Hints::new(slots, IdlePolicy::DEFAULT)?;
    /// assert_eq!(sleep.num_workers(), 3);
    /// # Ok::<(), sleep_core::TooManyWorkers>(())
    /// ```
    ///
    /// # Errors
    /// [`TooManyWorkers`] if there are more than 65,535.
    pub fn new(slots: S, policy: I) -> Result<Self, TooManyWorkers> {
        TooManyWorkers::unless_at_most(MAX_WORKERS, slots.slots().len())?;
        Ok(Self::with_parts(slots, policy))
    }

    /// Returns the workers' slots, in their order.
    #[must_use]
    pub fn slots(&self) -> &[HintSlot<S::Channel>] {
        self.slots.slots()
    }

    /// Returns how idle workers behave.
    #[must_use]
    pub fn policy(&self) -> IdlePolicy {
        *self.policy.as_ref()
    }

    /// Returns the count of sleepers at this instant: how many workers are registered and not yet
    /// taken by a notifier. Negative: how many notifications wait for a sleeper. For debug output
    /// and statistics.
    #[must_use]
    pub fn sleepers(&self) -> isize {
        self.sleepers.get()
    }

    /// Wakes up to `count` sleepers and sends them a hint. Does nothing if no worker sleeps.
    ///
    /// EMPER's `notifyEmper`. As for [internal](Origin::Internal) jobs, a worker that is falling
    /// asleep may overlook the work unless the caller has executed a sequentially consistent fence
    /// since it queued the work.
    #[inline]
    pub fn notify(&self, count: usize, hint: Hint) {
        if self.sleepers.any() {
            self.notify_cold(count, hint);
        }
    }

    /// Makes `count` notifications take effect: for workers that sleep now, and for those that
    /// would sleep next, which search once more instead. At most as many notifications wait as
    /// there are workers.
    ///
    /// EMPER's `notifyAnywhere`.
    pub fn notify_anywhere(&self, count: usize, hint: Hint) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `sleep`. While the exchange
        // below changes the count, the order of all exchanges of the count would do. But it
        // changes nothing when as many notifications wait as there are workers, and those
        // may be out of date: of the two fences one comes first, so that the sleeper sees
        // the job or we see the sleeper.
        fence(Ordering::SeqCst);
        let workers = self.slots().len();
        let mut count = count;
        while count > 0 {
            let units = self.sleepers.take_or_leave(count, workers);
            if units == 0 {
                return;
            }
            // Units spent on workers that already run a job have notified no worker; notify that
            // many again.
            count = self.spend(units, hint);
        }
    }

    #[cold]
    fn notify_cold(&self, mut count: usize, hint: Hint) {
        while count > 0 {
            let units = self.sleepers.take(count);
            if units == 0 {
                return;
            }
            count = self.spend(units, hint);
        }
    }

    /// Spends units that the caller has taken: on workers that sleep, which are woken, and on
    /// others that are registered. Returns how many were spent on workers that run a job
    /// already.
    fn spend(&self, mut units: usize, hint: Hint) -> usize {
        let mut stale = 0;
        // Liveness: at least as many workers are registered as units are held. So if a look at all
        // slots finds too few, other notifiers have claimed some meanwhile and others have
        // registered. The next look finds those, or again other notifiers have made
        // progress.
        loop {
            for slot in self.slots() {
                match slot.claim() {
                    None => continue,
                    Some(Claim::Sleeper) => wake(slot, hint),
                    Some(Claim::Searcher) => {}
                    Some(Claim::Stale) => stale += 1,
                }
                units -= 1;
                if units == 0 {
                    return stale;
                }
            }
            spin_loop();
        }
    }
}

/// Unparks a worker with a hint. The worker wakes up even if the channel has no room.
fn wake<C: HintChannel>(slot: &HintSlot<C>, hint: Hint) {
    let channel = slot.channel();
    if hint == Hint::Unknown || channel.send(hint).is_err() {
        channel.parker().unpark();
    }
    slot.wake_time().note(channel.parker());
}

impl<S: HintSlots, I: AsRef<IdlePolicy>> SleepProtocol for Hints<S, I> {
    type Parker = <S::Channel as HintChannel>::Parker;
    type IdleState = IdleState;
    type Hint = Hint;

    fn num_workers(&self) -> usize {
        self.slots().len()
    }

    #[inline]
    fn parker(&self, worker: WorkerIndex) -> &Self::Parker {
        self.slots()[worker.get()].channel().parker()
    }

    /// Learns from waits apart from other searches.
    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> IdleState {
        let slot = &self.slots()[worker.get()];
        slot.search().begin(worker);
        slot.set_inactive(true);
        IdleState::new(worker, purpose)
    }

    /// Relaxes or sleeps, as the policy says.
    #[inline]
    fn no_work_found(
        &self,
        idle: &mut IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> Hint {
        let slot = &self.slots()[idle.worker.get()];
        slot.search().go_on(idle.worker);
        let (policy, parker) = (self.policy.as_ref(), slot.channel().parker());
        let mut step = idle.search.next_step(policy, slot.history(), parker);
        if step == Step::GetSleepy {
            // Getting sleepy takes no search of its own here, because no other worker has to know.
            idle.search.got_sleepy((), policy);
            step = idle.search.next_step(policy, slot.history(), parker);
        }
        match step {
            Step::Sleep(()) => self.sleep(idle, latch, has_work),
            Step::Relax | Step::GetSleepy => {
                policy.relax().relax(parker);
                Hint::Unknown
            }
        }
    }

    /// Withdraws the worker's registration, if it has one. Then asks `more_work` if workers sleep,
    /// and wakes one of them if there is more: so a notification that has reached this worker
    /// is passed on.
    #[inline]
    fn work_found(&self, idle: IdleState, more_work: impl FnOnce() -> bool) {
        let slot = &self.slots()[idle.worker.get()];
        slot.search().end(idle.worker);
        slot.set_inactive(false);
        idle.search.end(self.policy.as_ref(), slot.history());
        if idle.may_be_registered {
            self.withdraw(slot);
        }
        if self.sleepers.any() {
            self.cascade(more_work);
        }
    }

    /// Calls [`notify_anywhere`](Self::notify_anywhere), or for internal jobs
    /// [`notify`](Self::notify): while no worker sleeps, that is one load.
    #[inline]
    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        match jobs.origin {
            Origin::Internal => self.notify(jobs.count, jobs.hint),
            Origin::Injected => self.notify_anywhere(jobs.count, jobs.hint),
        }
    }

    /// Executes one fence for all.
    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `sleep`: either the slot says
        // that the worker sleeps, or its `has_work` sees the job. Nothing weaker orders the
        // caller's writes of its queues, which were all before this, and our look at the slots.
        fence(Ordering::SeqCst);
        workers.into_iter().for_each(|worker| {
            self.wake_worker(worker);
        });
    }

    #[inline]
    fn all_are_awake(&self) -> bool {
        !self.sleepers.any()
    }

    /// Wakes a worker, which stays registered until it withdraws.
    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let slot = &self.slots()[worker.get()];
        let slept = slot.poke();
        if slept {
            wake(slot, Hint::Unknown);
        }
        slept
    }

    /// Counts the workers, so the cost is linear in their number.
    fn num_inactive(&self) -> usize {
        let inactive = |slot: &&HintSlot<S::Channel>| slot.is_inactive();
        self.slots().iter().filter(inactive).count()
    }

    /// Counts the workers, so the cost is linear in their number.
    fn num_sleeping(&self) -> usize {
        let asleep = |slot: &&HintSlot<S::Channel>| slot.is_asleep();
        self.slots().iter().filter(asleep).count()
    }
}

impl<S: HintSlots, I: AsRef<IdlePolicy>> Hints<S, I> {
    #[cold]
    fn cascade(&self, more_work: impl FnOnce() -> bool) {
        if more_work() {
            self.notify(1, Hint::Unknown);
        }
    }
}

impl<S: HintSlots, I: AsRef<IdlePolicy>> LendSeats for Hints<S, I> {}

impl<S: HintSlots, I: AsRef<IdlePolicy>> AwakeSet for Hints<S, I> {}

impl<S, I: AsRef<IdlePolicy>> fmt::Debug for Hints<S, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hints")
            .field("sleepers", &*self.sleepers)
            .field("policy", self.policy.as_ref())
            .finish_non_exhaustive()
    }
}
