//! Joins of a pool whose workers are woken for nothing.

use std::{boxed::Box, cell::Cell, rc::Rc, sync::Arc};

use sleep_core::CoreLatch;

use super::super::*;
use crate::{
    job::JobContext,
    testing::{Event, NOW, Test, observe, registry, workers},
    wake_history::MOST_LEFT_OUT,
};

/// Returns whether a join wakes the only sleeper. Its first closure takes so many nanoseconds.
fn wakes(poster: &WorkerThread<Test>, sleeper: &WorkerThread<Test>, nanoseconds: u64) -> bool {
    let (never, registry) = (CoreLatch::new(), poster.registry());
    let mut idle = registry.begin_idle(sleeper.index());
    idle.no_work_found(&never, || unreachable!("only announces"));
    let mut is_woken = false;
    idle.no_work_found(&never, || {
        poster.shared().deque().disable_fast_push();
        let advance = |_: JobContext<'_, Test>| NOW.set(NOW.get().map(|now| now + nanoseconds));
        poster.join_context(advance, |_| (), false);
        is_woken = registry.num_sleeping() == 0;
        true
    });
    idle.end(|| false);
    is_woken
}

fn make_fruitless(registry: &Registry<Test>) {
    while !registry.wake_history().is_fruitless() {
        registry.wake_history().record_fruitless();
    }
}

#[test]
fn joins_leave_out_wake_ups_that_would_be_for_nothing() {
    NOW.set(Some(0));
    let registry = registry::<Test>(2);
    let [poster, sleeper] = workers(&registry);
    assert!(wakes(&poster, &sleeper, 0));
    make_fruitless(&registry);
    for _ in 0..MOST_LEFT_OUT {
        assert!(!wakes(&poster, &sleeper, 0));
    }
    assert!(wakes(&poster, &sleeper, 0), "one job has so many joins");
    poster.forget_left_out_wakes();
    assert!(!wakes(&poster, &sleeper, 0), "another job");
}

#[test]
fn a_long_join_ends_it() {
    NOW.set(Some(0));
    let registry = registry::<Test>(2);
    let [poster, sleeper] = workers(&registry);
    make_fruitless(&registry);
    assert!(!wakes(&poster, &sleeper, 20_000));
    assert!(!wakes(&poster, &sleeper, 20_001), "it is known only now");
    assert!(wakes(&poster, &sleeper, 0));
}

#[test]
fn without_a_clock_each_join_wakes_a_worker() {
    NOW.set(None);
    let registry = registry::<Test>(2);
    let [poster, sleeper] = workers(&registry);
    make_fruitless(&registry);
    assert!(wakes(&poster, &sleeper, 0));
}

/// Lets a worker sleep until it has been woken so many times. Then its latch is set.
fn wake_again_and_again(worker: &WorkerThread<Test>, times: u32, each: impl Fn() + 'static) {
    let latch = Arc::new(CoreLatch::new());
    let left = Rc::new(Cell::new(times));
    observe(Some(Box::new({
        let (latch, index) = (latch.clone(), worker.index());
        let registry = worker.registry_pointer();
        move |event| {
            if event != Event::Park {
                return;
            }
            // SAFETY: the test holds the registry.
            let registry = unsafe { &*registry };
            if left.get() == 0 {
                // SAFETY: 1. this closure holds the latch; 2. the worker waits; 3. the test does; 4. for this.
                unsafe { registry.set_latch(&raw const *latch, index) };
                return;
            }
            left.set(left.get() - 1);
            each();
            registry.wake_worker(index);
        }
    })));
    worker.wait_until(&latch);
    observe(None);
}

#[test]
fn wake_ups_for_nothing_are_counted() {
    for (times, expected) in [(7, false), (8, true)] {
        let registry = registry::<Test>(1);
        let [worker] = workers(&registry);
        wake_again_and_again(&worker, times, || ());
        assert_eq!(registry.wake_history().is_fruitless(), expected, "{times}");
    }
}

#[test]
fn a_stolen_job_after_a_wake_up_ends_the_count() {
    use crate::{job::StackJob, latch::BlockingLatch};

    let registry = registry::<Test>(2);
    let [worker, victim] = workers(&registry);
    make_fruitless(&registry);
    let job = StackJob::<Test, _, _, _>::new(|_| (), BlockingLatch::<Test>::new());
    // SAFETY: 1. it stays, and is run below.
    let reference = unsafe { job.as_job_ref() };
    let victim = Rc::new(victim);
    wake_again_and_again(&worker, 1, {
        let victim = victim.clone();
        move || assert!(victim.own().try_push(reference).is_ok())
    });
    assert!(!registry.wake_history().is_fruitless());
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.into_result() };
}
