//! Which workers are asleep; how many of them are woken, and which; and how one is lent to a guest,
//! and given back.

use super::{AtomicCounters, Counters, Jec, Slots, slot::Slot, widths::Widths};
use crate::{
    index::WorkerIndex,
    policy::IdlePolicy,
    primitive::{AtomicUsize, Ordering, fence},
    protocol::{LendSeats, SleepProtocol as _},
};

#[cfg(all(test, not(loom)))]
mod tests;

/// While fewer workers than this are awake and idle, one that has found a job wakes two others for
/// more. A lower number occupies a pool of some ten workers later in the simulator. The models of
/// this crate have few workers.
const MANY_IDLE: usize = if cfg!(all(loom, test)) { 1 } else { 8 };

/// The number of workers that one word tells of.
const GROUP: usize = usize::BITS as usize;

/// The workers whose slots may be open, as one bit for each.
///
/// The words are in the slots of the first workers, so that they need no memory of their own,
/// whatever the number of workers. This value is beside the counters, on a line that a worker has
/// just written when it writes this.
///
/// The slot alone says whether a worker sleeps. The bits promise two things:
///
/// - The bit of an open slot is set. A worker sets its own before it opens the slot, and the thread
///   that has closed or claimed the slot clears it before the worker can set it again.
/// - The bit of a worker that queues jobs is clear, because others leave out the queues of workers
///   whose bits are set.
///
/// No operation waits or fails, so an interrupt handler may call all of them.
pub(super) struct Sleepers {
    /// In whose word wakers begin: the worker that fell asleep last, or one that was found after
    /// it.
    first: AtomicUsize,
    widths: Widths,
}

impl Sleepers {
    const_unless_loom! {
        pub(super) fn new(widths: Widths) -> Self {
            Self { first: AtomicUsize::new(0), widths }
        }
    }

    /// Whether the counters allow so few workers that wakers look at the slots instead. So it is on
    /// small processors, where bits are more code than they are worth.
    #[inline(always)]
    pub(super) const fn are_few(&self) -> bool {
        self.widths.max_threads() <= u8::MAX as usize
    }

    /// Sets the bit of a worker. The worker calls this before it opens its slot, or the guest that
    /// gives it back.
    #[inline]
    pub(super) fn add<P>(&self, slots: &[Slot<P>], worker: usize) {
        if self.are_few() {
            return;
        }
        // Ordering: Relaxed; the sleeper's fence comes after it, and pairs with the poster's: see
        // `Jec::wake_some`.
        slots[worker / GROUP]
            .group()
            .fetch_or(bit(worker), Ordering::Relaxed);
        self.begin_with(worker);
    }

    /// Clears the bit of a worker. Called by the thread that has claimed the slot, before it
    /// releases the slot, or by the worker itself, which has closed it.
    #[inline]
    pub(super) fn remove<P>(&self, slots: &[Slot<P>], worker: usize) {
        if self.are_few() {
            return;
        }
        // Ordering: Relaxed. The release of the slot orders it before the worker's next `add`, and
        // before the fence after its next job.
        slots[worker / GROUP]
            .group()
            .fetch_and(!bit(worker), Ordering::Relaxed);
    }

    /// Offers the workers that may be asleep to `accepts`, each at most once, until it accepts one.
    ///
    /// The word of the worker that fell asleep last comes first, in the order of the numbers. If
    /// the `waker` is a worker that ends a search, it begins at a place of its own: otherwise
    /// many that do so at the same time would all try the same ones. Then come the others of
    /// that word, in a circle, and those of the next words.
    #[inline]
    pub(super) fn find<P>(
        &self,
        slots: &[Slot<P>],
        waker: Option<usize>,
        mut accepts: impl FnMut(usize) -> bool,
    ) {
        if self.are_few() {
            (0..slots.len()).any(accepts);
            return;
        }
        let start = match waker {
            // An odd number, so that all begin apart if the number of workers is a power of two;
            // the golden ratio of 16 bits, so that neighbors begin far from each other.
            Some(worker) => worker.wrapping_mul(40_503) % slots.len(),
            // Ordering: Relaxed; it changes only the order in which workers are offered.
            None => self.first.load(Ordering::Relaxed) / GROUP * GROUP,
        };
        let asleep = |word| word;
        Self::scan(slots, start, asleep, |worker| {
            let is_accepted = accepts(worker);
            if is_accepted && waker.is_none() && worker / GROUP != start / GROUP {
                self.begin_with(worker);
            }
            is_accepted
        });
    }

    /// Offers the workers whose bit is not set to `accepts`, each at most once, from the worker
    /// `first` on, until it accepts one. Returns whether it did.
    #[inline]
    pub(super) fn any_awake<P>(
        &self,
        slots: &[Slot<P>],
        first: usize,
        mut accepts: impl FnMut(usize) -> bool,
    ) -> bool {
        let start = if first < slots.len() { first } else { 0 };
        let awake = |word: usize| !word;
        Self::scan(slots, start, awake, |worker| {
            worker < slots.len() && accepts(worker)
        })
    }

    /// Offers the workers that `select` takes from each word to `accepts`, in a circle that begins
    /// with the worker `start`, until it accepts one. The others of the first word come before
    /// the next word.
    #[inline]
    fn scan<P>(
        slots: &[Slot<P>],
        start: usize,
        select: impl Fn(usize) -> usize,
        mut accepts: impl FnMut(usize) -> bool,
    ) -> bool {
        let groups = slots.len().div_ceil(GROUP);
        let first = start % GROUP;
        for step in 0..groups {
            let group = (start / GROUP + step) % groups;
            // Ordering: Relaxed. A waker has executed a fence that pairs with the sleeper's: either
            // this sees the bit of a worker that sleeps, or that worker sees the waker's job. A
            // worker that is about to sleep has executed a fence too: if it sees the bit of a
            // worker that has cleared it, that one's next fence comes later, after which it sees
            // this worker registered.
            let mut selected = select(slots[group].group().load(Ordering::Relaxed));
            while selected != 0 {
                let distance = selected.rotate_right(first as u32).trailing_zeros() as usize;
                let number = (first + distance) % GROUP;
                if accepts(group * GROUP + number) {
                    return true;
                }
                selected &= !bit(number);
            }
        }
        false
    }

    /// Lets wakers begin in the word of a worker.
    fn begin_with(&self, worker: usize) {
        // Ordering: Relaxed, as in `find`.
        self.first.store(worker, Ordering::Relaxed);
    }
}

fn bit(worker: usize) -> usize {
    1 << (worker % GROUP)
}

impl<S: Slots, I: AsRef<IdlePolicy>> Jec<S, I> {
    /// Wakes up to `count` sleeping workers, for a poster or for a worker in the cascade. Returns
    /// how many. `count` is not zero.
    ///
    /// The caller has executed a fence since it queued the work, or before it saw it. A worker that
    /// has counted itself but not opened its slot yet is passed over; then its own fence comes
    /// after the caller's, and its `has_work` sees the work.
    pub(super) fn wake_some(&self, count: usize, waker: Option<usize>) -> usize {
        let mut woken = 0;
        self.shared.sleepers.find(self.slots(), waker, |worker| {
            if self.slots()[worker].state().claim() {
                self.wake_claimed(worker);
                woken += 1;
            }
            woken == count
        });
        woken
    }

    /// Passes on what posters may have left to a worker, after the worker stopped being idle;
    /// `counters` are their values after that.
    #[cold]
    pub(super) fn cascade(
        &self,
        worker: usize,
        counters: Counters,
        more_work: impl FnOnce() -> bool,
    ) {
        if self.are_enough(counters) {
            // Liveness: another worker was idle when this one left. It passes on whatever a poster
            // left to this worker, or sees it in its last look.
            return;
        }
        // Ordering: pairs with the fence in `announce_injected`. Either that poster reads the
        // counters without this worker among the idle ones, and wakes a sleeper itself; or its
        // job is visible to `more_work`. No weaker fence orders our write of the counters before
        // our reads of the queues.
        fence(Ordering::SeqCst);
        if more_work() {
            let count = counters.sleeping().min(AtomicCounters::CASCADE);
            self.wake_some(count, Some(worker));
        }
    }

    /// Whether so many workers are awake and idle that one that has found a job wakes no other:
    /// [`MANY_IDLE`], and at least half as many as are active.
    ///
    /// So the number of workers grows by half again and again while there are jobs for all of them,
    /// and does not when the last jobs are taken. Workers that are blocked in their jobs are
    /// active.
    fn are_enough(&self, counters: Counters) -> bool {
        let idle = counters.awake_but_idle();
        let active = self.num_workers().saturating_sub(counters.inactive());
        idle >= MANY_IDLE && 2 * idle >= active
    }

    /// Announces jobs that no sleeping worker may overlook.
    pub(super) fn announce_injected(&self, count: usize, queue_was_empty: bool) {
        // Ordering: the poster's fence. Pairs with the sleeper's in `park` and with the one in
        // `cascade`: orders the caller's write of its queue before our reads of the counters, the
        // bits and the slots, which no acquire or release can.
        fence(Ordering::SeqCst);
        if !self.all_are_awake() {
            self.wake_for_jobs(count, queue_was_empty);
        }
    }

    /// Does what [`wake_for_jobs`](Self::wake_for_jobs) does, for a poster that may have executed
    /// no fence.
    #[cold]
    pub(super) fn fence_and_wake_for_jobs(&self, count: usize, queue_was_empty: bool) {
        // Ordering: the poster's fence, as in `announce_injected`.
        fence(Ordering::SeqCst);
        self.wake_for_jobs(count, queue_was_empty);
    }

    /// Wakes sleepers for jobs, if need be. The poster has executed a fence since it queued them.
    #[cold]
    pub(in crate::protocol) fn wake_for_jobs(&self, count: usize, queue_was_empty: bool) {
        let counters = self.shared.counters.increment_jec_if_sleepy();
        if counters.sleeping() == 0 {
            return;
        }
        let idle = counters.awake_but_idle();
        let helped = if queue_was_empty { idle } else { 0 };
        let wanted = count.saturating_sub(helped).min(counters.sleeping());
        // Liveness: an idle worker is counted on if none is woken here, and the cascade passes on
        // what is left.
        let enough = self.policy.as_ref().enough_idle();
        let count = wanted.min(enough.saturating_sub(idle));
        if count > 0 {
            self.wake_some(count, None);
        }
    }

    pub(super) fn wake_claimed(&self, worker: usize) {
        let slot = &self.slots()[worker];
        self.shared.counters.sub_sleeping_thread();
        // Before the release, after which the worker may fall asleep again, and set it.
        self.shared.sleepers.remove(self.slots(), worker);
        slot.state().release_and_unpark();
        slot.wake_time().note(slot.parker());
    }
}

impl<S: Slots, I: AsRef<IdlePolicy>> LendSeats for Jec<S, I> {
    /// Lends an eligible sleeper, the first in the order of the bits. Costs one load while no
    /// worker sleeps.
    ///
    /// The guest counts as active, so it needs no room among the searchers. If it searches in a
    /// join, it counts as one then, by `start_looking` and `work_found` as any worker.
    fn borrow_sleeper(&self, mut eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        if self.shared.counters.load().sleeping() == 0 {
            return None;
        }
        let mut lent = None;
        self.shared
            .sleepers
            .find(self.slots(), None, |index: usize| {
                let slot = self.slots()[index].state();
                if !slot.is_asleep() {
                    return false;
                }
                lent = WorkerIndex::new(index, self.num_workers())
                    .ok()
                    .filter(|&worker| eligible(worker) && slot.lend());
                lent.is_some()
            });
        if let Some(worker) = lent {
            self.slots()[worker.get()].state().search().lend();
            // One step: a poster that counts on idle workers that are awake never counts on this
            // one.
            self.shared.counters.sub_sleeping_and_inactive();
            // Before the guest queues a job: no other worker may leave its queue out.
            self.shared.sleepers.remove(self.slots(), worker.get());
        }
        lent
    }

    /// Counts the host as asleep again, and wakes it if there is work.
    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        let slot = self.slots()[worker.get()].state();
        slot.search().give_back(worker);
        self.shared.counters.add_sleeping_and_inactive();
        // Before the slot is open, so that the bit of an open slot is set.
        self.shared.sleepers.add(self.slots(), worker.get());
        slot.give_back();
        // Ordering: the sleeper's fence, as in `park`, and for the same posters. A poster that has
        // found the slot lent, and so has passed this worker over, executed its fence
        // before this one. So its job is visible to `has_work`, and so is a latch that was
        // set before a fence.
        fence(Ordering::SeqCst);
        let wakes = has_work() && slot.claim_known_sleeper();
        if wakes {
            self.wake_claimed(worker.get());
        }
        wakes
    }

    fn caller_resumed(&self) {
        if let Some(slot) = self.slots().first() {
            self.resumed.note(slot.parker());
        }
    }
}
