//! Pools with more workers than can make progress at a time.

use std::{boxed::Box, cell::Cell, rc::Rc};

use sleep_core::{CoreLatch, Purpose};

use super::super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    testing::{Event, HAS_PROCESS_FENCE, PARALLELISM, Test, observe, registry, workers},
};

type Job<F> = StackJob<BlockingLatch<Test>, F>;

fn job<F: FnOnce(JobContext<'_, Test>) + Send>(run: F) -> Job<F> {
    StackJob::new(run, BlockingLatch::new())
}

/// Lets a worker be registered as a sleeper while a closure runs. Returns whether it was woken
/// then.
pub(super) fn while_asleep(worker: &WorkerThread<Test>, closure: impl FnOnce()) -> bool {
    let never = CoreLatch::new();
    let registry = worker.registry();
    let mut idle = registry.begin_idle(worker.index(), Purpose::Job);
    idle.no_work_found(&never, || unreachable!("only announces"));
    let mut is_woken = false;
    idle.no_work_found(&never, || {
        let before = registry.num_sleeping();
        closure();
        is_woken = registry.num_sleeping() < before;
        true
    });
    idle.end(|| false);
    is_woken
}

/// Joins when no thief comes.
fn join(worker: &WorkerThread<Test>) {
    // As a worker does that falls asleep.
    worker.shared().deque.disable_fast_push();
    worker.join_context(|_| (), |_| (), false);
}

#[test]
fn a_join_wakes_no_worker_while_enough_are_awake() {
    let registry = registry::<Test>(3);
    let [poster, _active, sleeper] = workers(&registry);
    for (parallelism, expected) in [(usize::MAX, true), (3, true), (2, false), (1, false)] {
        PARALLELISM.set(parallelism);
        let is_woken = while_asleep(&sleeper, || {
            join(&poster);
            // The next one does not even ask.
            assert_eq!(poster.own().fast_push_enabled(), !expected);
        });
        assert_eq!(is_woken, expected, "{parallelism}");
    }
}

/// A job that its poster may leave keeps its promise: it does not wait while a worker sleeps.
#[test]
fn a_posted_job_wakes_a_worker_though_enough_are_awake() {
    let registry = registry::<Test>(3);
    let [poster, _active, sleeper] = workers(&registry);
    PARALLELISM.set(1);
    let job = job(|_| ());
    // SAFETY: `as_job_ref`: 1. it stays, and is run below; `post`: 1. once.
    assert!(while_asleep(&sleeper, || unsafe {
        poster.post(job.as_job_ref());
    }));
    assert!(poster.yield_now());
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.take_result() };
}

#[test]
fn a_worker_passes_on_posted_jobs_but_not_those_of_joins_while_enough_are_awake() {
    let registry = registry::<Test>(3);
    let [poster, finder, sleeper] = workers(&registry);
    let jobs = [(); 2].map(|()| job(|_| ()));
    // SAFETY: 1. they stay, and are run below.
    let [of_join, posted] = [0, 1].map(|index| unsafe { jobs[index].as_job_ref() });
    PARALLELISM.set(2);
    while_asleep(&sleeper, || {
        assert!(poster.own().try_push(of_join).is_ok());
        assert!(finder.has_work_for_others());
        assert!(!finder.has_work_to_pass_on());
        PARALLELISM.set(3);
        assert!(finder.has_work_to_pass_on(), "too few are awake");
        PARALLELISM.set(2);
        // SAFETY: 1. it is run below.
        unsafe { poster.post(posted) };
        // The post has woken the sleeper, and another one falls asleep.
        while_asleep(&finder, || assert!(poster.has_work_to_pass_on()));
    });
    while poster.yield_now() {}
    for job in jobs {
        // SAFETY: 1. it has been run, just now; 2. once.
        unsafe { job.take_result() };
    }
}

/// Or each join of a worker that has once spawned a job would count as if it were left to others.
#[test]
fn a_worker_that_runs_out_of_jobs_forgets_that_it_has_posted_some() {
    let registry = registry::<Test>(1);
    let [worker] = workers(&registry);
    let job = job(|_| ());
    // SAFETY: `as_job_ref`: 1. it stays, and is run below; `post`: 1. once.
    unsafe { worker.post(job.as_job_ref()) };
    assert!(worker.shared().may_hold_posted());
    assert!(worker.yield_now());
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.take_result() };
    let latch = CoreLatch::new();
    // SAFETY: 1. and 3. the test holds both; 2. no worker waits yet; 4. for this.
    unsafe { registry.set_latch(&raw const latch, worker.index()) };
    worker.wait_until(&latch);
    assert!(worker.shared().may_hold_posted(), "it has not searched");
    let searched = search_once(&worker);
    assert!(searched && !worker.shared().may_hold_posted());
}

/// Lets a worker search until a job on its own deque, which comes when it parks, has set its latch.
fn search_once(worker: &WorkerThread<Test>) -> bool {
    use crate::testing::{Event, observe};
    use std::{boxed::Box, sync::Arc};

    let latch = Arc::new(CoreLatch::new());
    observe(Some(Box::new({
        let (latch, index) = (latch.clone(), worker.index());
        let registry = worker.registry_pointer();
        move |event| {
            if event == Event::Park {
                // SAFETY: the test holds the registry. 1. this closure holds the latch; 2. the
                // worker waits;
                // 3. as said; 4. for this.
                unsafe { (*registry).set_latch(&raw const *latch, index) };
            }
        }
    })));
    worker.wait_until(&latch);
    observe(None);
    latch.probe()
}

#[test]
fn workers_ask_again_when_they_are_told_to() {
    let registry = registry::<Test>(3);
    let [poster, _active, sleeper] = workers(&registry);
    PARALLELISM.set(2);
    while_asleep(&sleeper, || {
        join(&poster);
        assert!(poster.own().fast_push_enabled());
        PARALLELISM.set(3);
        registry.reconsider_wakes();
        assert!(!poster.own().fast_push_enabled());
        let before = registry.num_sleeping();
        poster.join_context(|_| (), |_| (), false);
        assert!(registry.num_sleeping() < before);
    });
}

#[test]
fn a_job_waits_until_a_worker_takes_it() {
    let registry = registry::<Test>(2);
    let [poster, thief] = workers(&registry);
    assert!(registry.waiting_job().is_none());
    let jobs = [(); 2].map(|()| job(|_| ()));
    for job in &jobs {
        // SAFETY: `as_job_ref`: 1. it stays, and is run below; `post`: 1. once.
        unsafe { poster.post(job.as_job_ref()) };
    }
    let oldest = registry.waiting_job().unwrap();
    assert!(registry.still_waits(oldest));
    assert!(poster.yield_now(), "the newest one");
    assert!(registry.still_waits(oldest));
    assert!(thief.yield_now());
    assert!(!registry.still_waits(oldest));
    for job in jobs {
        // SAFETY: 1. it has been run, just now; 2. once.
        unsafe { job.take_result() };
    }
}

/// Reproduces a bug: a worker that falls asleep and finds every fast push disabled leaves the
/// process fence to the thread that has disabled them, and this one executed none.
#[test]
fn a_process_fence_comes_after_wakes_are_reconsidered() {
    let registry = registry::<Test>(2);
    let [owner, sleeper] = workers(&registry);
    HAS_PROCESS_FENCE.set(true);
    let fences = Rc::new(Cell::new(0));
    let counted = fences.clone();
    observe(Some(Box::new(move |event| {
        counted.set(counted.get() + usize::from(event == Event::ProcessFence));
    })));
    assert!(owner.own().enable_fast_push(|| true));
    registry.reconsider_wakes();
    assert!(!sleeper.check_sources_before_sleep().has_work);
    observe(None);
    HAS_PROCESS_FENCE.set(false);
    assert_eq!(fences.get(), 1);
}
