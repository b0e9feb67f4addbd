//! A small protocol of one's own, and what the check says when a line of it is missing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::vec::Vec;

use super::*;
use crate::{CoreLatch, Parker as _, SleepProtocol, WorkerIndex, protocol::full_fence};

/// What is wrong with the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    NoFenceOfPoster,
    NoFenceOfSleeper,
    NoLastLook,
    LooksBeforeItRegisters,
    NoLookAtTheLatch,
    TrustsThePark,
    NoCascade,
    WakesAnyWorkerForOne,
    NoEndOfTheSearch,
    WakerDoesNotCount,
    SaysThatAllAreAwake,
}

/// A protocol with a flag for each worker and two counts.
struct Small {
    fault: Fault,
    parkers: Vec<ScheduledParker>,
    /// Whether the worker is registered. The thread that lowers the flag lowers the count too.
    asleep: Vec<AtomicBool>,
    sleeping: AtomicUsize,
    inactive: AtomicUsize,
}

impl Small {
    fn new(workers: usize, fault: Fault) -> Self {
        Self {
            fault,
            parkers: (0..workers).map(|_| ScheduledParker::new()).collect(),
            asleep: (0..workers).map(|_| AtomicBool::new(false)).collect(),
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

    fn num_workers(&self) -> usize {
        self.parkers.len()
    }

    fn parker(&self, worker: WorkerIndex) -> &ScheduledParker {
        &self.parkers[worker.get()]
    }

    fn start_looking(&self, worker: WorkerIndex) -> WorkerIndex {
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
        let looks_first = self.has(Fault::LooksBeforeItRegisters);
        let mut has_work = Some(has_work);
        let mut look = |now: bool| now && has_work.take().is_some_and(|has_work| has_work());
        let saw_work = look(looks_first);
        self.sleeping.fetch_add(1, SeqCst);
        self.asleep[me].store(true, SeqCst);
        let is_set = uses_latch && !latch.fall_asleep();
        self.fence_unless(Fault::NoFenceOfSleeper);
        let stays = is_set || saw_work || look(!looks_first && !self.has(Fault::NoLastLook));
        if !stays || !self.claim(me) {
            if self.has(Fault::TrustsThePark) {
                self.parkers[me].park();
            } else {
                while self.asleep[me].load(SeqCst) {
                    self.parkers[me].park();
                }
            }
        }
        latch.wake_up();
    }

    fn work_found(&self, _idle: WorkerIndex, more_work: impl FnOnce() -> bool) {
        if !self.has(Fault::NoEndOfTheSearch) {
            self.inactive.fetch_sub(1, SeqCst);
        }
        full_fence();
        if !self.has(Fault::NoCascade) && self.num_sleeping() > 0 && more_work() {
            self.wake_some(1);
        }
    }

    fn new_injected_jobs(&self, count: usize, _queue_was_empty: bool) {
        self.fence_unless(Fault::NoFenceOfPoster);
        self.wake_for_jobs(count);
    }

    fn new_internal_jobs(&self, count: usize, _queue_was_empty: impl FnOnce() -> bool) {
        self.wake_for_jobs(count);
    }

    fn all_are_awake(&self) -> bool {
        self.has(Fault::SaysThatAllAreAwake) || self.num_sleeping() == 0
    }

    fn new_job_for(&self, worker: WorkerIndex) {
        full_fence();
        if self.has(Fault::WakesAnyWorkerForOne) {
            self.wake_some(1);
        } else {
            self.wake(worker.get());
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

fn check(fault: Fault) {
    check_protocol(|workers| Small::new(workers, fault));
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
        (NoFenceOfSleeper, "a job from outside: ", lost),
        (NoLastLook, "a job from outside: ", lost),
        (LooksBeforeItRegisters, "a job from outside: ", lost),
        (NoLookAtTheLatch, "a stop: ", lost),
        (TrustsThePark, "a park that returns early: ", miscounted),
        (NoCascade, "that need two workers: ", lost),
        (WakesAnyWorkerForOne, "a job for the second worker: ", lost),
        (NoEndOfTheSearch, "a stop: ", miscounted),
        (WakerDoesNotCount, "a stop: ", miscounted),
        (SaysThatAllAreAwake, "after a fence: ", lost),
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
