//! Workers that sleep, whose deques the others leave out.

use std::{
    boxed::Box,
    cell::Cell,
    rc::Rc,
    sync::{Arc, Barrier},
};

use progress_core::Operation;
use sleep_core::{CoreLatch, NewJobs, Purpose, SleepProtocol as _};

use super::super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    testing::{Event, Test, observe, registry, with_pool, workers},
};

mod isolated_parker;

type Job<F> = StackJob<BlockingLatch<Test>, F>;

fn job<F: FnOnce(JobContext<'_, Test>) + Send>(run: F) -> Job<F> {
    StackJob::new(run, BlockingLatch::new())
}

/// Lets workers be registered as sleepers while a closure runs, and turn back then.
fn while_asleep(workers: &[WorkerThread<Test>], closure: &mut dyn FnMut()) {
    let Some((worker, others)) = workers.split_first() else {
        return closure();
    };
    let never = CoreLatch::new();
    let mut idle = worker.registry().begin_idle(worker.index(), Purpose::Job);
    idle.no_work_found(&never, || unreachable!("only announces"));
    idle.no_work_found(&never, || {
        while_asleep(others, closure);
        true
    });
    idle.end(|| false);
}

#[test]
fn the_deque_of_a_sleeper_is_left_out() {
    // With one of them awake, few are.
    const WORKERS: usize = 16;
    let registry = registry::<Test>(WORKERS);
    let workers: [_; WORKERS] = workers(&registry);
    let (other, sleepers) = workers.split_first().unwrap();
    let job = job(|_| ());
    while_asleep(sleepers, &mut || {
        // It asks how many are awake when it begins a search.
        registry
            .begin_idle(other.index(), Purpose::Job)
            .end(|| false);
        // SAFETY: 1. it stays, and is run below.
        let reference = unsafe { job.as_job_ref() };
        assert!(sleepers[0].own().try_push(reference).is_ok());
        // Small counters come without a bit for each sleeper.
        let is_left_out = cfg!(target_has_atomic = "64");
        assert_ne!(other.check_sources_before_sleep().has_work, is_left_out);
        assert_ne!(other.has_work_for_others(), is_left_out);
        assert!(
            registry.may_run(other.index()),
            "the detection of deadlocks leaves none out"
        );
    });
    assert!(other.check_sources_before_sleep().has_work);
    assert!(other.yield_now(), "it is left out no longer");
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.take_result() };
}

/// A parker may run other jobs. Its worker is one of those that sleep, so it does not count as
/// awake beside them.
#[test]
fn a_parker_that_yields_sees_the_job_of_the_only_worker_awake() {
    // Two of them are few, so the last one notes that few are awake when it falls asleep.
    const WORKERS: usize = 32;
    let registry = registry::<Test>(WORKERS);
    let workers: [_; WORKERS] = workers(&registry);
    let (other, sleepers) = workers.split_first().unwrap();
    let last = sleepers.last().unwrap();
    let job = job(|_| ());
    while_asleep(sleepers, &mut || {
        // SAFETY: 1. it stays, and is run below.
        let reference = unsafe { job.as_job_ref() };
        assert!(other.own().try_push(reference).is_ok());
        // As in a search.
        last.may_be_left_out.set(true);
        assert!(last.yield_now());
    });
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.take_result() };
}

/// A worker asks that when it stops searching, or leaves.
#[test]
fn own_jobs_are_work_for_others() {
    let registry = registry::<Test>(1);
    let [worker] = workers(&registry);
    assert!(!worker.has_work_for_others());
    let job = job(|_| ());
    // SAFETY: 1. it stays, and is run below.
    let reference = unsafe { job.as_job_ref() };
    assert!(worker.own().try_push(reference).is_ok());
    assert!(worker.has_work_for_others());
    assert!(worker.yield_now());
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.take_result() };
}

/// Lets one worker of a large pool after the other join, while most others sleep. Both closures run
/// at the same time, or the test does not end: a sleeper is woken for the second one, and must not
/// leave out the worker that has just been woken for the first.
#[test]
#[cfg_attr(miri, ignore = "so many threads take minutes")]
fn stress() {
    with_pool(32, |registry| {
        for _ in 0..100 {
            let barrier = Barrier::new(2);
            let wait = || barrier.wait().is_leader();
            let (a, b) = registry.in_worker(|worker, _| {
                worker.shared().deque.disable_fast_push();
                worker.join_context(|_| wait(), |_| wait(), false)
            });
            assert!(a ^ b);
        }
    });
}

/// Others may have left the worker out while it slept, and then they have not disabled its fast
/// push.
#[test]
fn a_worker_that_slept_announces_its_next_job() {
    let registry = registry::<Test>(2);
    let [worker, _other] = workers(&registry);
    let latch = Arc::new(CoreLatch::new());
    assert!(worker.own().enable_fast_push(|| true));
    observe(Some(Box::new({
        let (registry, latch, index) = (registry.clone(), latch.clone(), worker.index());
        move |event| {
            if event == Event::Park {
                // SAFETY: 1. and 3. this closure holds both; 2. the worker waits; 4. for this.
                unsafe { registry.set_latch(&raw const *latch, index) };
            }
        }
    })));
    worker.wait_until(&latch);
    observe(None);
    assert!(!worker.own().fast_push_enabled());
}

/// A waker may have lowered the count for a worker that is still in its parker, and not yet cleared
/// its bit. Then all seem to be awake.
#[test]
fn a_registered_worker_does_not_enable_its_fast_push() {
    let registry = registry::<Test>(2);
    let [worker, _other] = workers(&registry);
    let (latch, index) = (Arc::new(CoreLatch::new()), worker.index());
    let (worker, announced) = (Rc::new(worker), Rc::new(Cell::new(0)));
    observe(Some(Box::new({
        let (registry, latch) = (registry.clone(), latch.clone());
        let (worker, announced) = (worker.clone(), announced.clone());
        move |event| {
            if event == Event::Park {
                // A poster wakes the worker.
                registry.sleep().announce(NewJobs::injected(1, true));
                // SAFETY: 1. and 3. this closure holds both; 2. the worker waits; 4. for this.
                unsafe { registry.set_latch(&raw const *latch, index) };
                assert!(registry.all_are_awake());
                worker.announce_join();
                assert!(!worker.own().fast_push_enabled());
                announced.set(announced.get() + 1);
            }
        }
    })));
    worker.wait_until(&latch);
    observe(None);
    assert_eq!(announced.get(), 1);
    worker.announce_join();
    assert!(worker.own().fast_push_enabled());
}

/// A parker may call functions of the pool. The worker is registered then.
#[test]
fn a_job_that_a_parker_queues_is_run() {
    let registry = registry::<Test>(2);
    let [other, worker] = workers(&registry);
    let (latch, index) = (Arc::new(CoreLatch::new()), worker.index());
    // SAFETY: 1. and 3. the test holds both; 2. the worker waits; 4. for this.
    let job = job(|_| unsafe { registry.set_latch(&raw const *latch, index) });
    // SAFETY: 1. it stays, and is run below.
    let reference = unsafe { job.as_job_ref() };
    let worker = Rc::new(worker);
    observe(Some(Box::new({
        let (registry, worker) = (registry.clone(), worker.clone());
        move |event| {
            if event == Event::Park {
                // SAFETY: 1. as above; it is posted once, because the worker parks once.
                unsafe { worker.post(reference) };
                let was_asleep = registry.sleep().wake_worker(index);
                assert!(!was_asleep, "it has woken itself");
            }
        }
    })));
    // The one that is woken for the job.
    while_asleep(&[other], &mut || worker.wait_until(&latch));
    observe(None);
    // SAFETY: 1. the latch was set by it; 2. once.
    unsafe { job.take_result() };
}

/// Reproduces a bug: the last look of the worker had not seen the operation, and it slept on.
#[test]
fn an_operation_that_a_parker_schedules_is_run() {
    let registry = registry::<Test>(1);
    let [worker] = workers(&registry);
    let (latch, index) = (Arc::new(CoreLatch::new()), worker.index());
    let worker = Rc::new(worker);
    observe(Some(Box::new({
        let (registry, worker, latch) = (registry.clone(), worker.clone(), latch.clone());
        move |event| {
            if event == Event::Park {
                let (registry, latch) = (registry.clone(), latch.clone());
                let set = move || {
                    // SAFETY: 1. and 3. the closure holds both; 2. the worker waits; 4. for this.
                    unsafe { registry.set_latch(&raw const *latch, index) };
                };
                worker.schedule(Box::new(Operation::new(set)));
            }
        }
    })));
    worker.wait_until(&latch);
    observe(None);
    assert!(latch.probe());
}
