use std::{
    boxed::Box,
    sync::atomic::{
        AtomicBool, AtomicU32,
        Ordering::{Relaxed, SeqCst},
    },
};

use super::*;
use crate::{
    pool::lifecycle::{Gate, Lifecycle},
    progress::Operation,
};

#[test]
fn a_worker_may_come_late() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::DEFAULT);
    thread::scope(|threads| {
        let installed = threads.spawn(|| POOL.install(|worker| worker.index()));
        threads.spawn(|| POOL.run_worker(1));
        assert_eq!(
            installed.join().unwrap(),
            1,
            "the closure has waited for a worker"
        );
        POOL.end();
    });
}

/// Checks that other workers, even sleeping ones, run the jobs that a worker leaves on its deque.
#[test]
fn work_moves_on_when_a_worker_leaves() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    for _ in 0..times(50) {
        RUNS.store(0, SeqCst);
        thread::scope(|threads| {
            let other = threads.spawn(|| POOL.run_worker(1));
            POOL.run_with(0, |worker| {
                for _ in 0..20 {
                    worker.spawn(|_| {
                        RUNS.fetch_add(1, SeqCst);
                    });
                }
            })
            .unwrap();
            while RUNS.load(SeqCst) < 20 {
                thread::yield_now();
            }
            while POOL.release_worker(1) == Err(ReleaseError::Absent) {
                thread::yield_now();
            }
            assert_eq!(other.join().unwrap(), Ok(ExitReason::Released));
        });
    }
}

/// Checks that a sleeping worker is woken for the operation of a worker that leaves.
#[test]
fn operations_move_on_when_a_worker_leaves() {
    static POOL: SpinPool<TestCores<2, 4>> = pool(IdlePolicy::IMMEDIATE);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    thread::scope(|threads| {
        threads.spawn(|| POOL.run_worker(1));
        for round in 1..=times(50) as u32 {
            while cfg!(not(sleep_busy)) && POOL.num_sleeping() == 0 {
                thread::yield_now();
            }
            let operation = Box::leak(Box::new(Operation::new(|| {
                RUNS.fetch_add(1, SeqCst);
            })));
            POOL.run_with(0, |worker| worker.schedule(operation))
                .unwrap();
            while RUNS.load(SeqCst) < round {
                thread::yield_now();
            }
        }
        POOL.end();
    });
}

/// Checks that a worker that leaves waits for a thread that is about to give it a job.
#[test]
fn a_gate_waits_for_the_sender_inside() {
    let (gate, has_sent) = (Gate::new(), AtomicBool::new(false));
    gate.open();
    assert!(gate.enter());
    thread::scope(|threads| {
        threads.spawn(|| {
            gate.close();
            assert!(has_sent.load(Relaxed), "the gate has not waited");
        });
        while gate.enter() {
            gate.exit();
            thread::yield_now();
        }
        // The other thread has begun to close the gate, and would look for jobs meanwhile.
        (0..100).for_each(|_| thread::yield_now());
        has_sent.store(true, Relaxed);
        gate.exit();
    });
}

#[test]
fn a_released_worker_comes_back() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    assert_eq!(POOL.release_worker(0), Err(ReleaseError::Absent));
    let comes_back = AtomicBool::new(true);
    thread::scope(|threads| {
        threads.spawn(|| POOL.run_worker(1).unwrap());
        let restless = threads.spawn(|| {
            let mut times = 0;
            while comes_back.load(SeqCst) {
                assert_eq!(POOL.run_worker(0), Ok(ExitReason::Released));
                times += 1;
            }
            times
        });
        for round in 0..times(100) {
            let (a, b) = POOL.install(|worker| worker.join(|_| round, |_| round + 1));
            assert_eq!((a, b), (round, round + 1));
            while POOL.release_worker(0) == Err(ReleaseError::Absent) {
                thread::yield_now();
            }
        }
        // Two threads release at the same time: neither request undoes the other.
        let releases = AtomicU32::new(0);
        thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    while releases.load(SeqCst) < times(2_000) as u32 {
                        if POOL.release_worker(0).is_ok() {
                            releases.fetch_add(1, SeqCst);
                        }
                    }
                });
            }
        });
        comes_back.store(false, SeqCst);
        while !restless.is_finished() {
            let _ = POOL.release_worker(0);
            thread::yield_now();
        }
        assert!(restless.join().unwrap() > 0);
        POOL.end();
    });
}

#[test]
fn end_and_restart() {
    static POOL: SpinPool<TestCores<2, 64>> = pool(IdlePolicy::DEFAULT);
    assert_eq!(POOL.restart(), Err(StillRunning));
    for round in 0..times(50) {
        with_workers(&POOL, || {
            assert_eq!(POOL.restart(), Err(StillRunning));
            assert_eq!(
                POOL.install(|worker| worker.join(|_| round, |_| 1)),
                (round, 1)
            );
        });
        POOL.end();
        assert_eq!(POOL.run_worker(0), Ok(ExitReason::Ended));
        assert_eq!(POOL.restart(), Ok(()));
        assert_eq!(POOL.restart(), Err(StillRunning));
    }
}

/// Ends the pool while a worker arrives that does not wait for the end yet.
#[test]
fn an_end_just_as_a_worker_comes() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    let round = Barrier::new(2);
    let rounds = times(1_500);
    thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..rounds {
                round.wait();
                assert_eq!(POOL.run_worker(0), Ok(ExitReason::Ended));
                round.wait();
            }
        });
        for delay in 0..rounds {
            round.wait();
            (0..delay % 500).for_each(|_| core::hint::spin_loop());
            POOL.end();
            round.wait();
            POOL.restart().unwrap();
        }
    });
}

/// Checks that a pool which another core, or a handler on this one, has seen running during a
/// restart can be ended by it.
#[test]
fn an_end_during_a_restart_is_not_lost() {
    let lifecycle = Lifecycle::new();
    assert!(lifecycle.end());
    assert!(lifecycle.try_begin_restart());
    assert!(!lifecycle.try_begin_restart());
    // The thread that restarts the pool ends it.
    assert!(!lifecycle.end());
    assert!(!lifecycle.end());
    assert!(!lifecycle.join(false));
    assert!(lifecycle.join(true));
    assert!(lifecycle.finish_restart());
    assert!(!lifecycle.join(false));
    assert!(!lifecycle.try_begin_restart());
    lifecycle.leave();

    assert!(lifecycle.try_begin_restart());
    assert!(!lifecycle.finish_restart());
    assert!(lifecycle.join(false));
    assert!(lifecycle.end());
    assert!(!lifecycle.end());
}

/// Checks that jobs left when the pool ended run on workers that arrive later, before or after its
/// restart.
#[test]
fn leftover_jobs_run() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let spawn = || {
        let spawned = POOL.spawn(|_| {
            RUNS.fetch_add(1, SeqCst);
        });
        spawned.unwrap();
    };
    spawn();
    POOL.end();
    assert_eq!(RUNS.load(SeqCst), 0);
    assert_eq!(POOL.run_worker(0), Ok(ExitReason::Ended));
    assert_eq!(RUNS.load(SeqCst), 1);
    POOL.restart().unwrap();
    spawn();
    POOL.end();
    POOL.restart().unwrap();
    with_workers(&POOL, || ());
    assert_eq!(RUNS.load(SeqCst), 2);
}

/// Ends the pool while a thread waits for an installed closure and no worker has arrived yet.
#[test]
fn the_end_waits_for_installed_closures() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    thread::scope(|threads| {
        let installed = threads.spawn(|| POOL.install(|worker| worker.index()));
        // The pool's own reference, and that of the thread that waits.
        while !std::format!("{POOL:?}").contains("references: 2") {
            thread::yield_now();
        }
        POOL.end();
        assert_eq!(POOL.run_worker(0), Ok(ExitReason::Ended));
        assert_eq!(installed.join().unwrap(), 0);
    });
    assert!(POOL.try_install(|_| ()).is_err());
}

/// Checks that a core sleeps until a condition is true, which it may be before the core arrives.
#[test]
fn a_worker_runs_until_a_condition_is_true() {
    static POOL: SpinPool<TestCores<1, 64>> = pool(IdlePolicy::DEFAULT);
    static TURN: AtomicU32 = AtomicU32::new(0);
    let rounds = times(400) as u32;
    thread::scope(|threads| {
        threads.spawn(|| {
            for round in 0..rounds {
                TURN.store(2 * round + 1, SeqCst);
                POOL.wake_worker(0).unwrap();
                while TURN.load(SeqCst) == 2 * round + 1 {
                    thread::yield_now();
                }
            }
        });
        for round in 0..rounds {
            let is_my_turn = || TURN.load(SeqCst) == 2 * round + 1;
            assert_eq!(POOL.run_worker_until(0, is_my_turn), Ok(ExitReason::Done));
            TURN.store(2 * round + 2, SeqCst);
        }
    });
    assert!(POOL.wake_worker(1).is_err());
}

#[test]
fn a_second_end_does_nothing() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    with_workers(&POOL, || {});
    POOL.end();
}

#[test]
#[should_panic(expected = "the pool has ended")]
fn installing_after_the_end_is_refused() {
    static POOL: SpinPool<TestCores<1, 2>> = pool(IdlePolicy::DEFAULT);
    POOL.end();
    POOL.install(|_| ());
}

/// The worker is taken by another thread, which leaves after the worker's own thread was refused.
/// Then no worker would arrive for which the others could wait. On a slow system, the worker's own
/// thread may come later, and run.
#[test]
#[cfg_attr(miri, ignore = "eight threads that spin")]
fn workers_do_not_wait_for_one_that_was_taken() {
    static POOL: SpinPool<TestCores<8, 2>> = pool(IdlePolicy::DEFAULT);
    static IS_TAKEN: AtomicU32 = AtomicU32::new(0);
    thread::scope(|threads| {
        threads.spawn(|| {
            let exit = POOL.run_with(0, |_| {
                IS_TAKEN.store(1, SeqCst);
                thread::sleep(core::time::Duration::from_millis(50));
            });
            assert_eq!(exit, Ok(()));
        });
        while IS_TAKEN.load(SeqCst) == 0 {
            thread::yield_now();
        }
        let _refused_or_run = std::panic::catch_unwind(|| with_workers(&POOL, || ()));
        assert!(POOL.spawn(|_| ()).is_err(), "the pool ends either way");
    });
}
