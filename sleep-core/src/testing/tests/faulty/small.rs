//! A small protocol, from which one rule may be left out.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::vec::Vec;

use super::*;
use crate::{
    AwakeSet, CoreLatch, LendSeats, NewJobs, Origin, Parker as _, Purpose, SleepProtocol,
    WorkerIndex, protocol::full_fence,
};

/// What is wrong with the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    NoFenceOfPoster,
    FenceAfterTheLookForSleepers,
    NoFenceOfSleeper,
    NoLastLook,
    LooksBeforeItRegisters,
    NoLookAtTheLatch,
    LatchBeforeItRegisters,
    NoLookAtTheLatchOfAJob,
    TrustsThePark,
    NoCascade,
    LooksForMoreBeforeItLeaves,
    NoFenceOnLeaving,
    WakesForNoJobs,
    LocksWhileItLooks,
    WakesAnyWorkerForOne,
    NoFenceForOne,
    WakesTheFirstAlone,
    NoEndOfTheSearch,
    WakerDoesNotCount,
    SaysThatAllAreAwake,
    SaysThatItWakesNone,
    SaysThatItWakesAll,
    ReturnsAnotherParker,
    NoLookOnReturn,
    NoFenceOnReturn,
    ReturnsWhileLent,
    LendsTheIneligible,
    LendsTwice,
    OffersASleeperTwice,
    ParksAGuestAsTheWorker,
    CountsTheBorrowed,
    SaysThatNoneWasWoken,
    LeavesOutAllOthers,
    OffersTheCaller,
    OffersTwice,
    OffersOnAfterAJob,
    SaysThatAJobIsHeld,
}

/// A protocol with a flag for each worker and two counts.
pub(super) struct Small {
    fault: Fault,
    parkers: Vec<ScheduledParker>,
    /// Whether the worker is registered. The thread that lowers the flag lowers the count too.
    asleep: Vec<AtomicBool>,
    /// Whether a guest has the worker's seat.
    lent: Vec<AtomicBool>,
    /// Whether a thread wakes the worker, or the worker looks for the last time.
    locked: Vec<AtomicBool>,
    sleeping: AtomicUsize,
    inactive: AtomicUsize,
}

impl Small {
    pub(super) fn new(workers: usize, fault: Fault) -> Self {
        Self {
            fault,
            parkers: (0..workers).map(|_| ScheduledParker::new()).collect(),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            lent: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            locked: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            sleeping: AtomicUsize::new(0),
            inactive: AtomicUsize::new(0),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn fence_unless(&self, fault: Fault) {
        if !self.has(fault) {
            full_fence();
        }
    }

    /// Ends a registration. Returns whether there was one.
    fn claim(&self, worker: usize) -> bool {
        let claimed = self.asleep[worker].swap(false, SeqCst);
        if claimed {
            self.sleeping.fetch_sub(1, SeqCst);
        }
        claimed
    }

    fn lock(&self, worker: usize) {
        while self.has(Fault::LocksWhileItLooks) && self.locked[worker].swap(true, SeqCst) {
            self.parkers[worker].relax();
        }
    }

    fn unlock(&self, worker: usize) {
        self.locked[worker].store(false, SeqCst);
    }

    fn wake(&self, worker: usize) -> bool {
        self.lock(worker);
        let claimed = if self.has(Fault::WakerDoesNotCount) {
            self.asleep[worker].swap(false, SeqCst)
        } else {
            self.claim(worker)
        };
        let parker = &self.parkers[worker];
        if claimed && self.lent[worker].load(SeqCst) {
            parker.unpark_guest();
        } else if claimed {
            parker.unpark();
        }
        self.unlock(worker);
        claimed
    }

    fn wake_some(&self, mut count: usize) {
        for worker in 0..self.parkers.len() {
            if count > 0 && self.wake(worker) {
                count -= 1;
            }
        }
    }

    /// Wakes sleepers for the jobs that no idle worker will take.
    fn wake_for_jobs(&self, mut count: usize) {
        if self.has(Fault::WakesForNoJobs) {
            count = count.max(1);
        }
        let (inactive, sleeping) = (self.num_inactive(), self.num_sleeping());
        self.wake_some(count.saturating_sub(inactive.saturating_sub(sleeping)));
    }
}

impl SleepProtocol for Small {
    type Parker = ScheduledParker;
    type IdleState = (WorkerIndex, Purpose);
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.parkers.len()
    }

    fn parker(&self, worker: WorkerIndex) -> &ScheduledParker {
        match worker.get() {
            worker if self.has(Fault::ReturnsAnotherParker) => &self.parkers[worker / 2],
            worker => &self.parkers[worker],
        }
    }

    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> Self::IdleState {
        self.inactive.fetch_add(1, SeqCst);
        (worker, purpose)
    }

    fn no_work_found(
        &self,
        idle: &mut Self::IdleState,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        let (me, purpose) = (idle.0.get(), idle.1);
        let is_guest = self.lent[me].load(SeqCst);
        let uses_latch = !self.has(Fault::NoLookAtTheLatch)
            && (purpose == Purpose::Job || !self.has(Fault::NoLookAtTheLatchOfAJob));
        if uses_latch && !latch.get_sleepy() {
            return;
        }
        let latch_first = self.has(Fault::LatchBeforeItRegisters);
        if latch_first && !latch.fall_asleep() {
            return;
        }
        let looks_first = self.has(Fault::LooksBeforeItRegisters);
        let mut has_work = Some(has_work);
        let mut look = |now: bool| now && has_work.take().is_some_and(|has_work| has_work());
        let saw_work = look(looks_first);
        self.lock(me);
        self.sleeping.fetch_add(1, SeqCst);
        self.asleep[me].store(true, SeqCst);
        let is_set = uses_latch && !latch_first && !latch.fall_asleep();
        self.fence_unless(Fault::NoFenceOfSleeper);
        let stays = is_set || saw_work || look(!looks_first && !self.has(Fault::NoLastLook));
        self.unlock(me);
        if !stays || !self.claim(me) {
            if self.has(Fault::TrustsThePark) {
                self.parkers[me].park();
            } else {
                let waits_for_guest = !is_guest && !self.has(Fault::ReturnsWhileLent);
                while self.asleep[me].load(SeqCst) || waits_for_guest && self.lent[me].load(SeqCst)
                {
                    if is_guest && !self.has(Fault::ParksAGuestAsTheWorker) {
                        self.parkers[me].park_guest();
                    } else {
                        self.parkers[me].park();
                    }
                }
            }
        }
        latch.wake_up();
    }

    fn work_found(&self, _idle: Self::IdleState, more_work: impl FnOnce() -> bool) {
        let ends = !self.has(Fault::NoEndOfTheSearch);
        let looks_first = self.has(Fault::LooksForMoreBeforeItLeaves);
        if ends && !looks_first {
            self.inactive.fetch_sub(1, SeqCst);
        }
        self.fence_unless(Fault::NoFenceOnLeaving);
        let wakes = !self.has(Fault::NoCascade) && self.num_sleeping() > 0 && more_work();
        if looks_first {
            self.inactive.fetch_sub(1, SeqCst);
        }
        if wakes {
            self.wake_some(1);
        }
    }

    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        let looks_first = self.has(Fault::FenceAfterTheLookForSleepers);
        let saw_sleepers = !looks_first || self.num_sleeping() > 0;
        if jobs.origin == Origin::Injected {
            self.fence_unless(Fault::NoFenceOfPoster);
        }
        if saw_sleepers {
            self.wake_for_jobs(jobs.count);
        }
    }

    fn all_are_awake(&self) -> bool {
        self.has(Fault::SaysThatAllAreAwake) || self.num_sleeping() == 0
    }

    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        self.fence_unless(Fault::NoFenceForOne);
        let most = if self.has(Fault::WakesTheFirstAlone) {
            1
        } else {
            usize::MAX
        };
        for worker in workers.into_iter().take(most) {
            if self.has(Fault::WakesAnyWorkerForOne) {
                self.wake_some(1);
            } else {
                self.wake(worker.get());
            }
        }
    }

    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        let woken = self.wake(worker.get()) && !self.has(Fault::SaysThatItWakesNone);
        woken || self.has(Fault::SaysThatItWakesAll)
    }

    fn num_inactive(&self) -> usize {
        self.inactive.load(SeqCst)
    }

    fn num_sleeping(&self) -> usize {
        self.sleeping.load(SeqCst)
    }
}

impl LendSeats for Small {
    fn borrow_sleeper(&self, mut eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        let workers = (0..self.num_workers()).filter_map(|index| self.worker(index).ok());
        workers.into_iter().find(|&worker| {
            let me = worker.get();
            let offers_again = self.has(Fault::OffersASleeperTwice);
            let is_accepted = eligible(worker) || offers_again && eligible(worker);
            if !is_accepted && !self.has(Fault::LendsTheIneligible) {
                return false;
            }
            if self.lent[me].swap(true, SeqCst) {
                return self.has(Fault::LendsTwice);
            }
            let claimed = self.claim(me);
            if claimed {
                if !self.has(Fault::CountsTheBorrowed) {
                    self.inactive.fetch_sub(1, SeqCst);
                }
            } else {
                self.lent[me].store(false, SeqCst);
                // A waker may have unparked it, and it may have found its seat lent.
                self.parkers[me].unpark();
            }
            claimed
        })
    }

    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        let me = worker.get();
        if !self.has(Fault::CountsTheBorrowed) {
            self.inactive.fetch_add(1, SeqCst);
        }
        self.sleeping.fetch_add(1, SeqCst);
        self.asleep[me].store(true, SeqCst);
        self.lent[me].store(false, SeqCst);
        self.fence_unless(Fault::NoFenceOnReturn);
        let was_woken = !self.has(Fault::NoLookOnReturn) && has_work() && self.wake(me);
        was_woken && !self.has(Fault::SaysThatNoneWasWoken)
    }
}

impl AwakeSet for Small {
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        _first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        let mut is_held = self.has(Fault::SaysThatAJobIsHeld);
        for worker in (0..self.num_workers()).filter_map(|index| self.worker(index).ok()) {
            let is_left_out =
                self.has(Fault::LeavesOutAllOthers) || self.asleep[worker.get()].load(SeqCst);
            let is_caller = Some(worker) == caller && !self.has(Fault::OffersTheCaller);
            if is_left_out || is_caller || is_held && !self.has(Fault::OffersOnAfterAJob) {
                continue;
            }
            is_held |= holds(worker) || self.has(Fault::OffersTwice) && holds(worker);
        }
        is_held
    }
}
