//! Thieves that meet shielded calls, step by step on one thread.

use sleep_core::{CoreLatch, Purpose};

use super::*;
use crate::{
    job::{JobContext, StackJob},
    latch::BlockingLatch,
    testing::{NOW, Test, registry, workers},
};

/// Sets the clock, in nanoseconds.
fn at(time: u64) {
    NOW.set(Some(time));
}

/// Pushes jobs of joins onto the deques of these workers, one on each, and calls a closure. Then
/// runs what is left.
fn with_jobs<const N: usize>(victims: [&WorkerThread<Test>; N], closure: impl FnOnce()) {
    let jobs =
        [(); N].map(|()| StackJob::new(|_: JobContext<'_, Test>| (), BlockingLatch::<Test>::new()));
    for (victim, job) in victims.iter().zip(&jobs) {
        // SAFETY: 1. it stays, and is run below or by the closure.
        let job = unsafe { job.as_job_ref() };
        assert!(victim.own().try_push(job).is_ok());
    }
    closure();
    for victim in victims {
        while victim.yield_local() {}
    }
    for job in jobs {
        // SAFETY: 1. it has been run; 2. once.
        unsafe { job.take_result() };
    }
}

#[test]
fn a_thief_leaves_a_short_call_alone() {
    let registry = registry::<Test>(2);
    let [caller, thief] = workers(&registry);
    caller.raise_shield();
    with_jobs([&caller], || {
        for time in [0, 1, SHIELDED_FOR - 1] {
            at(time);
            assert!(!thief.yield_now(), "at {time}");
        }
    });
    assert!(!caller.lower_shield(), "no thief has come");
}

#[test]
fn a_thief_breaks_the_shield_of_a_long_call_for_all() {
    let registry = registry::<Test>(3);
    let [caller, thief, other] = workers(&registry);
    caller.raise_shield();
    with_jobs([&caller], || {
        at(5);
        assert!(!thief.yield_now());
        at(5 + SHIELDED_FOR);
        assert!(!other.yield_now(), "it has met the call just now");
        assert!(thief.yield_now());
    });
    with_jobs([&caller], || assert!(other.yield_now()));
    assert!(caller.lower_shield(), "the platform learns of it");
    assert!(!caller.lower_shield());
}

#[test]
fn each_call_has_its_time() {
    let registry = registry::<Test>(2);
    let [caller, thief] = workers(&registry);
    for call in 0..3 {
        caller.raise_shield();
        with_jobs([&caller], || {
            at(call * SHIELDED_FOR);
            assert!(!thief.yield_now());
            at(call * SHIELDED_FOR + 1);
            assert!(!thief.yield_now());
        });
        caller.lower_shield();
    }
    with_jobs([&caller], || assert!(thief.yield_now(), "it is lowered"));
}

/// If a thief watched the call that it has met last, it would never see either of them for long
/// enough.
#[test]
fn a_thief_between_two_calls_breaks_both() {
    let registry = registry::<Test>(3);
    let [one, two, thief] = workers(&registry);
    one.raise_shield();
    two.raise_shield();
    with_jobs([&one, &two], || {
        let mut steps = 0;
        let mut stolen = 0;
        while stolen < 2 {
            at(steps * SHIELDED_FOR / 2);
            stolen += u64::from(thief.yield_now());
            steps += 1;
            assert!(steps < 20, "a job waits for good");
        }
    });
    assert!(one.lower_shield() && two.lower_shield());
}

#[test]
fn what_a_call_posts_is_not_shielded() {
    let registry = registry::<Test>(2);
    let [caller, thief] = workers(&registry);
    at(0);
    caller.raise_shield();
    let job = StackJob::new(|_: JobContext<'_, Test>| (), BlockingLatch::<Test>::new());
    // SAFETY: `as_job_ref`: 1. it stays, and is run below; `post`: 1. once.
    unsafe { caller.post(job.as_job_ref()) };
    assert!(thief.yield_now());
    // SAFETY: 1. it has been run, just now; 2. once.
    unsafe { job.take_result() };
}

#[test]
fn a_caller_that_wakes_a_worker_lowers_its_shield() {
    let registry = registry::<Test>(3);
    let [caller, thief, sleeper] = workers(&registry);
    at(0);
    caller.raise_shield();
    let never = CoreLatch::new();
    let mut idle = registry.begin_idle(sleeper.index(), Purpose::Job);
    idle.no_work_found(&never, || unreachable!("only announces"));
    idle.no_work_found(&never, || {
        caller.shared().deque.disable_fast_push();
        caller.join_context(|_| assert!(thief.yield_now()), |_| (), false);
        true
    });
    idle.end(|| false);
}

#[test]
fn without_a_clock_nothing_is_shielded() {
    let registry = registry::<Test>(2);
    let [caller, thief] = workers(&registry);
    NOW.set(None);
    caller.raise_shield();
    with_jobs([&caller], || assert!(thief.yield_now()));
}
