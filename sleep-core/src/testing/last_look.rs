//! A protocol that shows what a last look overlooks.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::vec::Vec;

use super::ScheduledParker;
use crate::{
    AwakeSet, CoreLatch, LendSeats, NewJobs, Parker as _, Purpose, SleepProtocol, WorkerIndex,
    protocol::full_fence,
};

/// A sleep protocol whose workers rely on nothing but their last look, for
/// [`Schedules`](super::Schedules).
///
/// The protocols of a pool notice most posts before the last look: `Jec` by its counter, `Classic`
/// by its sleepy worker, `Hints` by a notification that waits. So a `has_work` that skips a queue
/// loses a wake-up only once in a million sleeps. With this protocol, a worker sleeps after each
/// fruitless search, and loses the wake-up in the first schedule in which a job is queued between
/// the search and the registration.
///
/// # Examples
/// ```
/// use sleep_core::{SleepProtocol, testing::LastLook};
///
/// let sleep = LastLook::new(2);
/// assert_eq!((sleep.num_workers(), sleep.num_sleeping()), (2, 0));
/// ```
#[derive(Debug)]
pub struct LastLook {
    slots: Vec<Slot>,
    inactive: AtomicUsize,
}

#[derive(Debug, Default)]
struct Slot {
    /// Whether the worker is registered as a sleeper.
    asleep: AtomicBool,
    parker: ScheduledParker,
}

impl LastLook {
    /// Creates the protocol for this number of workers.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self {
            slots: (0..workers).map(|_| Slot::default()).collect(),
            inactive: AtomicUsize::new(0),
        }
    }
}

impl SleepProtocol for LastLook {
    type Parker = ScheduledParker;
    type IdleState = WorkerIndex;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.slots.len()
    }

    fn parker(&self, worker: WorkerIndex) -> &ScheduledParker {
        &self.slots[worker.get()].parker
    }

    fn start_looking(&self, worker: WorkerIndex, _purpose: Purpose) -> WorkerIndex {
        self.inactive.fetch_add(1, SeqCst);
        worker
    }

    fn no_work_found(
        &self,
        idle: &mut WorkerIndex,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        if !latch.get_sleepy() {
            return;
        }
        let Slot { asleep, parker } = &self.slots[idle.get()];
        asleep.store(true, SeqCst);
        let sleeps = latch.fall_asleep() && {
            // Pairs with the fence in `announce` and `announce_for`.
            full_fence();
            !has_work()
        };
        // A waker that has ended the registration unparks.
        if sleeps || !asleep.swap(false, SeqCst) {
            // Liveness: the next poster, or the setter of the latch, ends the registration and
            // unparks.
            while asleep.load(SeqCst) {
                parker.park();
            }
        }
        latch.wake_up();
    }

    fn work_found(&self, _idle: WorkerIndex, _more_work: impl FnOnce() -> bool) {
        self.inactive.fetch_sub(1, SeqCst);
    }

    /// Wakes as many sleepers as there are jobs, so that no worker leaves anything to others.
    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        full_fence();
        let mut workers = (0..self.slots.len()).filter_map(|index| self.worker(index).ok());
        for _ in 0..jobs.count {
            if !workers.any(|worker| self.wake_worker(worker)) {
                return;
            }
        }
    }

    fn all_are_awake(&self) -> bool {
        self.num_sleeping() == 0
    }

    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        full_fence();
        workers.into_iter().for_each(|worker| {
            self.wake_worker(worker);
        });
    }

    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let Slot { asleep, parker } = &self.slots[worker.get()];
        let slept = asleep.swap(false, SeqCst);
        if slept {
            parker.unpark();
        }
        slept
    }

    fn num_inactive(&self) -> usize {
        self.inactive.load(SeqCst)
    }

    fn num_sleeping(&self) -> usize {
        let asleep = |slot: &&Slot| slot.asleep.load(SeqCst);
        self.slots.iter().filter(asleep).count()
    }
}

impl LendSeats for LastLook {}

impl AwakeSet for LastLook {}
