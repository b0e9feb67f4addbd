//! A small protocol of one's own, and what the check says when a line of it is missing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::vec::Vec;

use super::*;
use crate::{
    AwakeSet, CoreLatch, LendSeats, NewJobs, Origin, Parker as _, Purpose, SleepProtocol,
    WorkerIndex, protocol::full_fence,
};

/// What is wrong with the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
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
struct Small {
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
    fn new(workers: usize, fault: Fault) -> Self {
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
        &self.parkers[worker.get()]
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

fn check(fault: Fault) {
    let make = |workers| Small::new(workers, fault);
    check_protocol(make);
    check_lending(make);
    check_awake_set(make);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn a_protocol_of_ones_own_passes() {
    check(Fault::None);
}

/// Each mistake, the scenario that finds it, and what it says.
type Planted = (Fault, &'static str, &'static str);

fn finds_each(check: fn(Fault), mistakes: &[Planted]) {
    for &(fault, scenario, message) in mistakes {
        let found = failure(|| check(fault));
        assert!(
            found.contains(scenario) && found.contains(message),
            "{fault:?}: {found}"
        );
    }
}

const LOST: &str = "a wake-up is lost";
const MISCOUNTED: &str = "miscounted";

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_is_found() {
    use Fault::*;
    let check = |fault| check_protocol(|workers| Small::new(workers, fault));
    let mistakes = [
        (NoFenceOfPoster, "a job from outside: ", LOST),
        (FenceAfterTheLookForSleepers, "a job from outside: ", LOST),
        (NoFenceOfSleeper, "a job from outside: ", LOST),
        (NoLastLook, "a job from outside: ", LOST),
        (LooksBeforeItRegisters, "a job from outside: ", LOST),
        (NoLookAtTheLatch, "a stop: ", LOST),
        (LatchBeforeItRegisters, "a stop: ", LOST),
        (NoLookAtTheLatchOfAJob, "one of another worker: ", LOST),
        (TrustsThePark, "a park that returns early: ", MISCOUNTED),
        (NoCascade, "that need two workers: ", LOST),
        (LooksForMoreBeforeItLeaves, "that need two workers: ", LOST),
        (NoFenceOnLeaving, "that need two workers: ", LOST),
        (WakesForNoJobs, "for a pool at rest: ", "no jobs"),
        (LocksWhileItLooks, "an interrupt handler: ", "without end"),
        (NoFenceForOne, "a job for the second worker: ", LOST),
        (WakesTheFirstAlone, "a job for each worker: ", LOST),
        (WakesAnyWorkerForOne, "a job for the second worker: ", LOST),
        (NoEndOfTheSearch, "a stop: ", MISCOUNTED),
        (WakerDoesNotCount, "a stop: ", MISCOUNTED),
        (SaysThatAllAreAwake, "after a fence: ", LOST),
        (SaysThatItWakesNone, "without a job: ", "`wake_worker`"),
        (SaysThatItWakesAll, "a job from outside: ", "`wake_worker`"),
    ];
    finds_each(check, &mistakes);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_in_lending_is_found() {
    use Fault::*;
    let check = |fault| check_lending(|workers| Small::new(workers, fault));
    let mistakes = [
        (NoLookOnReturn, "a guest: ", LOST),
        (NoFenceOnReturn, "a guest: ", LOST),
        (ReturnsWhileLent, "a guest: ", "`no_work_found` returns"),
        (LendsTheIneligible, "at rest: ", "eligible"),
        (LendsTwice, "at rest: ", "borrowed already"),
        (OffersASleeperTwice, "at rest: ", "twice"),
        (ParksAGuestAsTheWorker, "a guest that sleeps: ", LOST),
        (CountsTheBorrowed, "at rest: ", MISCOUNTED),
        (SaysThatNoneWasWoken, "at rest: ", "`give_back`"),
    ];
    finds_each(check, &mistakes);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_in_leaving_sleepers_out_is_found() {
    use Fault::*;
    let check = |fault| check_awake_set(|workers| Small::new(workers, fault));
    let mistakes = [
        (LeavesOutAllOthers, "to the second worker: ", LOST),
        (OffersTheCaller, "to the second worker: ", "calling worker"),
        (OffersTwice, "to the second worker: ", "twice"),
        (OffersOnAfterAJob, "at rest: ", "another worker"),
        (SaysThatAJobIsHeld, "to the second worker: ", "no worker"),
    ];
    finds_each(check, &mistakes);
}

/// By schedule, not by luck.
#[test]
#[cfg_attr(miri, ignore = "hundreds of schedules")]
fn the_same_mistake_is_found_in_the_same_schedule() {
    let [one, other] = [(); 2].map(|()| failure(|| check(Fault::NoFenceOfSleeper)));
    assert_eq!(one, other);
    assert!(
        one.contains("worker 0: sees no job in its last look"),
        "{one}"
    );
    assert!(
        one.contains("the thread outside: has queued a job"),
        "{one}"
    );
}
