use std::{
    process,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst, fence},
    thread,
};

use pool_core::{Relax, Searchers};

use super::*;
use crate::{ParkerKind, ProcessBarrier, ThreadPool, ThreadPoolBuilder, join};

#[test]
fn names_and_kinds_belong_together() {
    for &kind in SleepKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert_eq!(SleepKind::ALL[0], SleepKind::default());
    let error = "JEC".parse::<SleepKind>().unwrap_err();
    assert_eq!(error.name(), "JEC");
    let text = error.to_string();
    assert!(text.contains("`JEC`") && text.contains("jec"), "{text}");
}

/// Checks that the protocol of a pool is asked which workers are awake, and not the default of the
/// trait.
#[test]
fn jec_leaves_out_workers_that_sleep() {
    const WORKERS: usize = 16;
    let parkers = || (0..WORKERS).map(|_| OsParker::new(ParkerKind::default()));
    for &kind in SleepKind::ALL {
        let sleep = PoolSleep::new(kind, parkers(), IdlePolicy::IMMEDIATE).unwrap();
        let mut awake = 0;
        while_asleep(&sleep, WORKERS - 1, &mut || {
            sleep.any_awake(None, 0, |_| {
                awake += 1;
                false
            });
        });
        let has_bits = cfg!(target_has_atomic = "64");
        let expected = match kind {
            SleepKind::Jec if has_bits => 1,
            // All of one socket sleep. In the other one, one of eight is too many to leave others
            // out.
            SleepKind::Sockets => WORKERS / 2,
            _ => WORKERS,
        };
        assert_eq!(awake, expected, "{kind}");
    }
}

/// Checks that the protocol of a pool is told which workers wait for a job, and not asked as by the
/// default of the trait.
#[test]
fn jec_lets_workers_search_that_wait_for_a_job() {
    let policy = IdlePolicy::new(4, 5, Relax::Spin(1)).with_max_searchers(Searchers::ONE);
    let parkers = (0..2).map(|_| OsParker::new(ParkerKind::default()));
    let sleep = PoolSleep::new(SleepKind::Jec, parkers, policy).unwrap();
    let [first, second] = [0, 1].map(|index| sleep.worker(index).unwrap());
    let searching = sleep.start_looking(first, Purpose::Job);
    assert_eq!(
        searches(&sleep, sleep.start_looking(second, Purpose::Job)),
        2
    );
    assert_eq!(
        searches(&sleep, sleep.start_looking(second, Purpose::Wait)),
        6
    );
    sleep.work_found(searching, || false);
}

/// The same for `Hints`, which learns from waits apart from other searches.
#[test]
fn hints_learns_from_waits_apart() {
    let policy = IdlePolicy::new(64, 65, Relax::Spin(1)).with_adaptive_rounds(true);
    let parkers = (0..1).map(|_| OsParker::new(ParkerKind::default()));
    let sleep = PoolSleep::new(SleepKind::Hints, parkers, policy).unwrap();
    let worker = sleep.worker(0).unwrap();
    // One round finds work, again and again.
    for _ in 0..6 {
        let mut waiting = sleep.start_looking(worker, Purpose::Wait);
        sleep.no_work_found(&mut waiting, &CoreLatch::new(), || unreachable!("a round"));
        sleep.work_found(waiting, || false);
    }
    assert_eq!(
        searches(&sleep, sleep.start_looking(worker, Purpose::Wait)),
        66
    );
    assert_eq!(
        searches(&sleep, sleep.start_looking(worker, Purpose::Job)),
        3
    );
}

/// Counts the searches of a worker until its last look, which sees work.
fn searches(sleep: &PoolSleep, mut idle: PoolIdle) -> u32 {
    let (latch, mut searches, mut has_looked) = (CoreLatch::new(), 0, false);
    while !has_looked {
        searches += 1;
        sleep.no_work_found(&mut idle, &latch, || {
            has_looked = true;
            true
        });
    }
    sleep.work_found(idle, || false);
    searches
}

/// Lets the first `workers` workers be registered as sleepers while a closure runs.
fn while_asleep(sleep: &PoolSleep, workers: usize, closure: &mut dyn FnMut()) {
    let Some(worker) = workers.checked_sub(1) else {
        return closure();
    };
    let (latch, mut has_looked) = (CoreLatch::new(), false);
    let mut idle = sleep.start_looking(sleep.worker(worker).unwrap(), Purpose::Job);
    while !has_looked {
        sleep.no_work_found(&mut idle, &latch, || {
            has_looked = true;
            while_asleep(sleep, worker, closure);
            true
        });
    }
    sleep.work_found(idle, || false);
}

/// Checks that no worker that falls asleep overlooks the second half of a join, whatever the
/// protocol, where the system has the fence. Counts, and does not judge, what happens without the
/// option.
#[cfg(not(miri))]
#[test]
fn no_job_is_overlooked() {
    for &kind in SleepKind::ALL {
        for policy in [IdlePolicy::IMMEDIATE, IdlePolicy::new(2, 2, Relax::Spin(5))] {
            let pool = |overlook_no_jobs| {
                let builder = ThreadPoolBuilder::new().num_threads(2).idle_policy(policy);
                // The handler makes the pool keep an account of which workers sleep. No job blocks.
                let builder = builder.deadlock_handler(|_| process::abort());
                builder
                    .sleep(kind)
                    .overlook_no_jobs(overlook_no_jobs)
                    .build()
                    .unwrap()
            };
            let without = pool(false);
            assert!(!without.overlooks_no_jobs());
            println!(
                "{kind} {policy:?}: {} without the option",
                overlooked(&without)
            );
            let with = pool(true);
            assert_eq!(with.overlooks_no_jobs(), ProcessBarrier::is_by_system());
            if with.overlooks_no_jobs() {
                assert_eq!(overlooked(&with), 0, "{kind} {policy:?}");
            }
        }
    }
}

/// Joins at many moments of the other worker's way to sleep. Returns how often it slept while the
/// second half was queued.
#[cfg(not(miri))]
fn overlooked(pool: &ThreadPool) -> usize {
    // Optimized, and with processors to spare, 2 of 1,000 are overlooked if no fence and no pause
    // precedes the last look.
    const JOINS: usize = if cfg!(debug_assertions) { 1_000 } else { 5_000 };
    let (has_woken, count) = (AtomicBool::new(false), AtomicUsize::new(0));
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            // A thread that wakes all workers may have woken this one, and be about to wake the
            // other one. Until then that one sleeps on, although the protocol says that all are
            // awake.
            while !has_woken.load(SeqCst) {
                thread::yield_now();
            }
            count.store(
                (0..JOINS)
                    .filter(|&number| is_overlooked(pool, number))
                    .count(),
                SeqCst,
            );
        });
        has_woken.store(true, SeqCst);
    });
    count.into_inner()
}

/// Joins once, on a worker. Returns whether the other worker slept while the second half was
/// queued.
#[cfg(not(miri))]
fn is_overlooked(pool: &ThreadPool, join_number: usize) -> bool {
    // The first one enables fast push, if the other worker is still awake. An odd factor, so that
    // the moments differ.
    (0..join_number * 31 % 127).for_each(|_| _ = join(|| (), || ()));
    let has_begun = AtomicBool::new(false);
    let first = || loop {
        // Liveness: either the other worker is awake, and takes the job, since there is no other;
        // or it sleeps, and then it stays asleep, since this thread alone could wake it.
        if has_begun.load(SeqCst) {
            return false;
        }
        if sleeps_for_good(pool) {
            return !has_begun.load(SeqCst);
        }
        thread::yield_now();
    };
    join(first, || has_begun.store(true, SeqCst)).0
}

/// Whether the other worker has looked for jobs in vain and parked, and no thread is waking it.
#[cfg(not(miri))]
fn sleeps_for_good(pool: &ThreadPool) -> bool {
    // Counted, so no thread has claimed it since it registered. That it is awake was noted before
    // it registered, and that it sleeps after it has looked.
    (0..2).all(|_| {
        let is_counted = pool.registry().num_sleeping() == 1;
        fence(SeqCst);
        is_counted && pool.state().asleep().count() == 1
    })
}
