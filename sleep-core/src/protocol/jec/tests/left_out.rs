//! A worker whose queue others leave out because it sleeps, against one that falls asleep and looks
//! at the queues. Once the first one is registered no longer, it queues a job, executes a fence,
//! and asks whether all are awake. If it says yes, the other one must see the job, or it is not
//! registered.
//!
//! What fails if something were missing:
//! - All models: the fence of a worker that falls asleep, before its last look; the fence of the
//!   worker that has queued a job.
//! - `a_worker_that_was_woken`: the waker lowers the count, or clears the bit, before it releases
//!   the slot.
//! - `a_worker_that_wakes_itself_for_its_job`: a worker that wakes itself executes a fence after
//!   that.
//! - `a_guest`: a guest clears the bit of the worker.

use ::loom::{
    model::Builder,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use super::*;
use crate::{
    AwakeSet, LendSeats,
    primitive::{Ordering, fence},
    protocol::slot::Tenant,
    testing::TestProtocol,
};

/// The worker that has slept, and the one that falls asleep.
const OWNER: usize = 0;
const SLEEPER: usize = 1;

struct Scene {
    sleep: TestJec,
    /// The queue of the owner holds a job.
    job: AtomicBool,
    /// Ends the sleep of the other worker.
    latch: CoreLatch,
}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            sleep: TestProtocol::new(2, IdlePolicy::IMMEDIATE),
            job: AtomicBool::new(false),
            latch: CoreLatch::new(),
        })
    }

    /// Registers the owner as a sleeper, before any thread begins. A job was posted since, so that
    /// the counters say that all are awake when it is registered no longer.
    fn register_owner(&self) {
        let Shared { counters, sleepers } = &*self.sleep.shared;
        counters.add_inactive_thread();
        let jec = counters.make_jec_sleepy();
        assert!(counters.try_add_sleeping_thread(jec).is_ok());
        sleepers.add(self.sleep.slots(), OWNER);
        assert_eq!(self.sleep.slots()[OWNER].state().open(), Tenant::Host);
        counters.increment_jec_if_sleepy();
    }

    /// Plays the owner when it is registered no longer. Returns whether it relies on others to see
    /// its job.
    fn queue_job(&self) -> bool {
        self.job.store(true, Relaxed);
        fence(Ordering::SeqCst);
        self.sleep.all_are_awake()
    }

    /// Plays the worker that falls asleep, until its latch is set. Returns whether it has seen the
    /// job in its last look, if it has looked.
    fn fall_asleep(&self) -> Option<bool> {
        let worker = self.sleep.worker(SLEEPER).unwrap();
        let mut idle = self.sleep.start_looking(worker, Purpose::Job);
        let mut seen = None;
        while seen.is_none() && !self.latch.probe() {
            self.sleep.no_work_found(&mut idle, &self.latch, || {
                let has_job = self.sleep.any_awake(None, SLEEPER, |worker| {
                    worker.get() == OWNER && self.job.load(Relaxed)
                });
                seen = Some(has_job);
                has_job
            });
        }
        seen
    }

    /// Ends the sleep of that worker.
    fn wake_sleeper(&self) {
        let sleeper = self.sleep.worker(SLEEPER).unwrap();
        // SAFETY: 1. and 3. both are in this value; 2. it alone waits; 4. it waits for nothing
        // else.
        unsafe { crate::set_latch(&self.sleep, &raw const self.latch, sleeper) };
    }
}

/// Lets a worker fall asleep while `owner` runs. It stays registered until the owner has ended,
/// unless it sees the job.
fn check(owner: fn(&Arc<Scene>) -> bool) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let scene = Scene::new();
        scene.register_owner();
        let sleeper = {
            let scene = scene.clone();
            thread::spawn(move || scene.fall_asleep())
        };
        let relies = owner(&scene);
        scene.wake_sleeper();
        let seen = sleeper.join().unwrap();
        assert!(!relies || seen != Some(false), "the job is overlooked");
    });
}

#[test]
fn a_worker_that_was_woken() {
    check(|scene| {
        let waker = {
            let scene = scene.clone();
            thread::spawn(move || scene.sleep.wake_worker(scene.sleep.worker(OWNER).unwrap()))
        };
        scene.sleep.slots()[OWNER]
            .state()
            .park_until_awake(Tenant::Host);
        scene.sleep.shared.counters.sub_inactive_thread();
        let relies = scene.queue_job();
        assert!(waker.join().unwrap());
        relies
    });
}

/// As a pool does if the worker's own parker has queued the job. The fence of a worker that is not
/// registered would be enough if it came later.
#[test]
fn a_worker_that_wakes_itself_for_its_job() {
    check(|scene| {
        scene.queue_job();
        let owner = scene.sleep.worker(OWNER).unwrap();
        let _is_awake = scene.sleep.wake_worker(owner);
        fence(Ordering::SeqCst);
        scene.sleep.all_are_awake()
    });
}

#[test]
fn a_guest() {
    check(|scene| {
        let is_owner = |worker: WorkerIndex| worker.get() == OWNER;
        scene.sleep.borrow_sleeper(is_owner).is_some() && scene.queue_job()
    });
}
