//! What the protocol is told when a worker begins to search.

use std::{cell::Cell, thread_local};

use sleep_core::{AwakeSet, CoreLatch, LendSeats, NewJobs, Purpose, SleepProtocol};

use super::super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    sources::Source,
    testing::{Test, TestBusy, TestOn, TestParker, TestProtocol, registry, workers},
};

thread_local! {
    /// Whether the last search on this thread began as that of a worker that waits for a job.
    static WAITS: Cell<Option<bool>> = const { Cell::new(None) };
}

thread_local! {
    /// How often a caller outside has run again after its wait, on this thread.
    static RESUMED: Cell<usize> = const { Cell::new(0) };
}

/// Sets the latch of each worker that searches.
struct Telling(TestBusy);

impl TestProtocol for Telling {
    fn new(parkers: impl Iterator<Item = TestParker>) -> Self {
        Self(TestProtocol::new(parkers))
    }
}

impl SleepProtocol for Telling {
    type Parker = TestParker;
    type IdleState = WorkerIndex;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.0.num_workers()
    }

    fn parker(&self, worker: WorkerIndex) -> &TestParker {
        self.0.parker(worker)
    }

    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> WorkerIndex {
        WAITS.set(Some(purpose == Purpose::Wait));
        self.0.start_looking(worker, purpose)
    }

    fn no_work_found(&self, _: &mut WorkerIndex, latch: &CoreLatch, _: impl FnOnce() -> bool) {
        // SAFETY: 1. the waiter's reference; 2. the tests wait for nothing else.
        let sleeps = unsafe { CoreLatch::set(latch) };
        assert!(!sleeps, "it is awake, in this call");
    }

    fn work_found(&self, worker: WorkerIndex, more_work: impl FnOnce() -> bool) {
        self.0.work_found(worker, more_work);
    }

    fn announce(&self, _jobs: NewJobs<impl FnOnce() -> bool>) {}

    fn announce_for(&self, _workers: impl IntoIterator<Item = WorkerIndex>) {}

    fn all_are_awake(&self) -> bool {
        true
    }

    fn wake_worker(&self, _worker: WorkerIndex) -> bool {
        false
    }

    fn num_inactive(&self) -> usize {
        self.0.num_inactive()
    }

    fn num_sleeping(&self) -> usize {
        0
    }
}

impl LendSeats for Telling {
    fn caller_resumed(&self) {
        RESUMED.set(RESUMED.get() + 1);
    }
}

impl AwakeSet for Telling {}

type Told = TestOn<<Test as Platform>::Storage, Telling>;

/// Checks that the limit on searchers does not send a worker to sleep that waits for a job of
/// another one, which may end at any moment, and that it holds for those that wait for something
/// else.
#[test]
fn the_protocol_is_told_whether_a_worker_waits_for_a_job() {
    let registry = registry::<Told>(1);
    let [worker] = workers(&registry);
    worker.wait_until(&CoreLatch::new());
    assert_eq!(WAITS.take(), Some(true), "for a job of this pool");
    worker.wait_for_outside(&CoreLatch::new());
    assert_eq!(WAITS.take(), Some(false), "for another thread");
    // SAFETY: 1. the pool has no guests.
    unsafe { worker.run_until_stopped() };
    assert_eq!(WAITS.take(), Some(false), "for its end");
    assert_eq!(registry.num_inactive(), 0);
}

/// Checks that the time until the caller runs again does not count as a pause between jobs.
#[test]
fn the_protocol_is_told_when_a_caller_outside_runs_again() {
    let registry = registry::<Told>(1);
    std::thread::scope(|scope| {
        let [worker] = workers(&registry);
        // SAFETY: 1. it stays until it leaves.
        unsafe { worker.enter() };
        let caller = scope.spawn(|| {
            let result = registry.in_worker(|_, _| RESUMED.get());
            assert_eq!(result, 0);
            RESUMED.get()
        });
        while !worker.yield_now() {
            std::thread::yield_now();
        }
        worker.leave();
        assert_eq!(caller.join().unwrap(), 1);
    });
    assert_eq!(RESUMED.get(), 0, "a worker is no caller outside");
}

/// Checks that workers of a large pool that find jobs at once leave the counts alone, on which all
/// of them would wait for one cache line.
#[test]
#[cfg_attr(miri, ignore = "searches of 65 workers take minutes")]
fn a_worker_of_a_large_pool_counts_as_idle_after_one_search() {
    fn begins_search<const WORKERS: usize>(last_source: Source) -> bool {
        let registry = registry::<Told>(WORKERS);
        let workers: [_; WORKERS] = workers(&registry);
        let (latch, index) = (CoreLatch::new(), workers[0].index());
        let run = |_: JobContext<'_, Told>| {
            // SAFETY: 1. and 3. both live in the frame of the test; 2. that worker waits; 4. for
            // this.
            unsafe { registry.set_latch(&latch, index) };
        };
        let job = StackJob::new(run, BlockingLatch::<Told>::new());
        // SAFETY: 1. it stays, and is run below.
        let reference = unsafe { job.as_job_ref() };
        assert!(workers[1].own().try_push(reference).is_ok());
        workers[0].last_source.note_found(last_source);
        workers[0].last_source.note_empty();
        workers[0].wait_until(&latch);
        // SAFETY: 1. it has been run, just now; 2. once.
        unsafe { job.take_result() };
        assert_eq!(registry.num_inactive(), 0);
        WAITS.take().is_some()
    }
    assert!(begins_search::<64>(Source::Worker(1)));
    assert!(!begins_search::<65>(Source::Worker(1)));
    // Where jobs come from outside, most of such searches would be fruitless.
    assert!(begins_search::<65>(Source::Injector));
    // Without a job, it counts as idle in any case.
    let registry = registry::<Told>(65);
    let workers: [_; 65] = workers(&registry);
    workers[0].last_source.note_found(Source::Worker(1));
    workers[0].wait_until(&CoreLatch::new());
    assert_eq!(WAITS.take(), Some(true));
}
