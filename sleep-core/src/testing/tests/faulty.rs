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
    TrustsThePark,
    NoCascade,
    LooksForMoreBeforeItLeaves,
    WakesAnyWorkerForOne,
    NoEndOfTheSearch,
    WakerDoesNotCount,
    SaysThatAllAreAwake,
    NoLookOnReturn,
    NoFenceOnReturn,
    LeavesOutAllOthers,
}

/// A protocol with a flag for each worker and two counts.
struct Small {
    fault: Fault,
    parkers: Vec<ScheduledParker>,
    /// Whether the worker is registered. The thread that lowers the flag lowers the count too.
    asleep: Vec<AtomicBool>,
    /// Whether a guest has the worker's seat.
    lent: Vec<AtomicBool>,
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

    fn wake(&self, worker: usize) -> bool {
        let claimed = if self.has(Fault::WakerDoesNotCount) {
            self.asleep[worker].swap(false, SeqCst)
        } else {
            self.claim(worker)
        };
        if claimed {
            self.parkers[worker].unpark();
        }
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
    fn wake_for_jobs(&self, count: usize) {
        let (inactive, sleeping) = (self.num_inactive(), self.num_sleeping());
        self.wake_some(count.saturating_sub(inactive.saturating_sub(sleeping)));
    }
}

impl SleepProtocol for Small {
    type Parker = ScheduledParker;
    type IdleState = WorkerIndex;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.parkers.len()
    }

    fn parker(&self, worker: WorkerIndex) -> &ScheduledParker {
        &self.parkers[worker.get()]
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
        let me = idle.get();
        let uses_latch = !self.has(Fault::NoLookAtTheLatch);
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
        self.sleeping.fetch_add(1, SeqCst);
        self.asleep[me].store(true, SeqCst);
        let is_set = uses_latch && !latch_first && !latch.fall_asleep();
        self.fence_unless(Fault::NoFenceOfSleeper);
        let stays = is_set || saw_work || look(!looks_first && !self.has(Fault::NoLastLook));
        if !stays || !self.claim(me) {
            if self.has(Fault::TrustsThePark) {
                self.parkers[me].park();
            } else {
                while self.asleep[me].load(SeqCst) || self.lent[me].load(SeqCst) {
                    self.parkers[me].park();
                }
            }
        }
        latch.wake_up();
    }

    fn work_found(&self, _idle: WorkerIndex, more_work: impl FnOnce() -> bool) {
        let ends = !self.has(Fault::NoEndOfTheSearch);
        let looks_first = self.has(Fault::LooksForMoreBeforeItLeaves);
        if ends && !looks_first {
            self.inactive.fetch_sub(1, SeqCst);
        }
        full_fence();
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
        full_fence();
        for worker in workers {
            if self.has(Fault::WakesAnyWorkerForOne) {
                self.wake_some(1);
            } else {
                self.wake(worker.get());
            }
        }
    }

    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        self.wake(worker.get())
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
            if !eligible(worker) || self.lent[me].swap(true, SeqCst) {
                return false;
            }
            let claimed = self.claim(me);
            if claimed {
                self.inactive.fetch_sub(1, SeqCst);
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
        self.inactive.fetch_add(1, SeqCst);
        self.sleeping.fetch_add(1, SeqCst);
        self.asleep[me].store(true, SeqCst);
        self.lent[me].store(false, SeqCst);
        self.fence_unless(Fault::NoFenceOnReturn);
        !self.has(Fault::NoLookOnReturn) && has_work() && self.wake(me)
    }
}

impl AwakeSet for Small {
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        _first: usize,
        mut holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        (0..self.num_workers()).any(|index| {
            let is_left_out =
                self.has(Fault::LeavesOutAllOthers) || self.asleep[index].load(SeqCst);
            let worker = self.worker(index).ok().filter(|_| !is_left_out);
            worker.is_some_and(|worker| Some(worker) != caller && holds(worker))
        })
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
#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn each_planted_mistake_is_found() {
    use Fault::*;
    let (lost, miscounted) = ("a wake-up is lost", "miscounted");
    for (fault, scenario, message) in [
        (NoFenceOfPoster, "a job from outside: ", lost),
        (FenceAfterTheLookForSleepers, "a job from outside: ", lost),
        (NoFenceOfSleeper, "a job from outside: ", lost),
        (NoLastLook, "a job from outside: ", lost),
        (LooksBeforeItRegisters, "a job from outside: ", lost),
        (NoLookAtTheLatch, "a stop: ", lost),
        (LatchBeforeItRegisters, "a stop: ", lost),
        (TrustsThePark, "a park that returns early: ", miscounted),
        (NoCascade, "that need two workers: ", lost),
        (LooksForMoreBeforeItLeaves, "that need two workers: ", lost),
        (WakesAnyWorkerForOne, "a job for the second worker: ", lost),
        (NoEndOfTheSearch, "a stop: ", miscounted),
        (WakerDoesNotCount, "a stop: ", miscounted),
        (SaysThatAllAreAwake, "after a fence: ", lost),
        (NoLookOnReturn, "a guest: ", lost),
        (NoFenceOnReturn, "a guest: ", lost),
        (LeavesOutAllOthers, "to the second worker: ", lost),
    ] {
        let found = failure(|| check(fault));
        assert!(
            found.contains(scenario) && found.contains(message),
            "{fault:?}: {found}"
        );
    }
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
