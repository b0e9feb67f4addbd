//! A thread that has set a latch, and is slow to tell which worker it wakes, while the guest that
//! waited for the latch leaves.

use std::{
    boxed::Box,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::channel,
    },
    thread,
    time::Duration,
};

use deque_core::Fixed;
use sleep_core::deadlock::{Report, State};

use super::super::*;
use crate::{
    JobRef, WorkerThread,
    job::StackJob,
    latch::BlockingLatch,
    testing::{
        DEQUE_CAPACITY, TestDetection, TestJec, TestOn, TestStorage,
        accounting::{TestAccounting, accounting},
        registry_with, with_registry,
    },
};

/// What has happened, in this order.
const SETTER_COMES: usize = 1;
const GUEST_HAS_LEFT: usize = 2;
const SETTER_HAS_GONE: usize = 3;

/// The accounting, with pauses between its calls.
struct Paused {
    inner: TestAccounting,
    stage: AtomicUsize,
    /// The thread that sets the latch of worker 0 waits until the guest has left.
    is_slow: bool,
}

impl Paused {
    fn has_reached(&self, stage: usize) -> bool {
        self.stage.load(SeqCst) == stage
    }

    fn reach(&self, stage: usize) {
        self.stage.store(stage, SeqCst);
    }

    fn wait_for(&self, stage: usize) {
        while self.stage.load(SeqCst) < stage {
            thread::yield_now();
        }
    }
}

impl TestDetection for Paused {
    fn new(_: usize) -> Self {
        unreachable!("the test creates it")
    }
}

impl DeadlockDetection for Paused {
    fn arrive(&self, worker: WorkerIndex) {
        self.inner.arrive(worker);
    }

    fn leave(&self, worker: WorkerIndex, may_run: impl Fn(WorkerIndex) -> bool) {
        self.inner.leave(worker, may_run);
    }

    fn fall_asleep(
        &self,
        worker: WorkerIndex,
        latch: &CoreLatch,
        may_run: impl Fn(WorkerIndex) -> bool,
    ) {
        // The setter has told which worker it wakes, and has looked for it.
        if worker.get() == 1 && self.has_reached(GUEST_HAS_LEFT) {
            self.reach(SETTER_HAS_GONE);
        }
        self.inner.fall_asleep(worker, latch, may_run);
        if worker.get() == 0 && self.has_reached(SETTER_COMES) {
            self.reach(GUEST_HAS_LEFT);
            if self.is_slow {
                self.wait_for(SETTER_HAS_GONE);
            }
        }
    }

    fn wake_up(&self, worker: WorkerIndex) {
        self.inner.wake_up(worker);
    }

    fn will_wake(&self, worker: WorkerIndex) {
        if worker.get() == 0 && self.has_reached(0) {
            self.reach(SETTER_COMES);
            if self.is_slow {
                self.wait_for(GUEST_HAS_LEFT);
            }
        }
        self.inner.will_wake(worker);
    }

    fn is_waking(&self, worker: WorkerIndex) -> bool {
        self.inner.is_waking(worker)
    }
}

type Pool = TestOn<Fixed<JobRef, DEQUE_CAPACITY>, TestJec, Paused>;

fn wait_until(holds: impl Fn() -> bool) {
    while !holds() {
        thread::yield_now();
    }
}

/// Returns false if the guest did not sleep when its latch was set.
fn check(is_slow: bool) -> bool {
    let (sender, reports) = channel();
    let sender = Mutex::new(sender);
    let handler = move |report: &Report<'_>| {
        let counts = (report.num_blocked(), report.num_asleep());
        sender.lock().unwrap().send(counts).unwrap();
    };
    let detection = Paused {
        inner: accounting(3, Some(Box::new(handler))),
        stage: AtomicUsize::new(0),
        is_slow,
    };
    let registry: Arc<Registry<Pool>> = registry_with(3, TestStorage::deque, detection);
    registry.data().store(true, SeqCst);
    with_registry(&registry, |registry| {
        let detection = registry.deadlock();
        let (release, event) = channel::<()>();
        let is_blocker_there = AtomicBool::new(false);
        let [is_occupied, is_over] = [(); 2].map(|()| AtomicBool::new(false));
        thread::scope(|threads| {
            wait_until(|| registry.num_sleeping() == 3);
            let (is_blocker_there, is_occupied) = (&is_blocker_there, &is_occupied);
            let is_over = &is_over;
            // The guest takes the seat of worker 0.
            let guest = threads.spawn(move || {
                let call = |worker: &WorkerThread<Pool>| {
                    assert_eq!(worker.index().get(), 0);
                    is_occupied.store(true, SeqCst);
                    wait_until(|| is_blocker_there.load(SeqCst));
                    let is_stolen = AtomicBool::new(false);
                    worker.join_context(
                        |_| wait_until(|| is_stolen.load(SeqCst)),
                        |context| {
                            assert_eq!(context.worker().index().get(), 1);
                            is_stolen.store(true, SeqCst);
                            let guest = registry.worker(0).unwrap();
                            wait_until(|| detection.inner.state(guest) == State::Asleep);
                        },
                        false,
                    );
                };
                let mut call = Some(call);
                while let Some(closure) = call.take() {
                    call = registry.try_call(closure).err();
                    thread::yield_now();
                }
            });
            wait_until(|| is_occupied.load(SeqCst));
            // Worker 2 runs a job that wakes the guest, when the setter has come, and then blocks.
            // Worker 1 is to steal.
            let mut event = Some(event);
            threads.spawn(move || {
                let mut is_run = false;
                while !is_run {
                    is_run = registry.in_worker(|worker, _| {
                        if worker.index().get() != 2 {
                            return false;
                        }
                        let event = event.take().unwrap();
                        is_blocker_there.store(true, SeqCst);
                        wait_until(|| {
                            detection.stage.load(SeqCst) >= SETTER_COMES || is_over.load(SeqCst)
                        });
                        if detection.has_reached(0) {
                            return true;
                        }
                        let job = StackJob::new(|_| (), BlockingLatch::<Pool>::new());
                        // SAFETY: it is run below, on this thread, or awaited.
                        unsafe { worker.post(job.as_job_ref()) };
                        while worker.yield_local() {}
                        job.latch().wait();
                        // SAFETY: it is done.
                        unsafe { job.take_result() };
                        let ticket = detection
                            .inner
                            .mark_blocked(worker.index(), |worker| registry.may_run(worker))
                            .unwrap();
                        assert!(event.recv().is_err());
                        let _ = detection.inner.mark_self_unblocked(ticket);
                        true
                    });
                }
            });
            guest.join().unwrap();
            is_over.store(true, SeqCst);
            if detection.has_reached(0) {
                return false;
            }
            let report = reports.recv_timeout(Duration::from_secs(10));
            drop(release);
            assert_eq!(report, Ok((1, 2)));
            true
        })
    })
}

#[test]
fn a_deadlock_after_a_prompt_note_is_reported() {
    while !check(false) {}
}

#[test]
fn a_deadlock_after_a_late_note_to_a_guest_is_reported() {
    while !check(true) {}
}
