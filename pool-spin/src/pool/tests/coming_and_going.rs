use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use super::*;

#[test]
fn a_worker_may_come_late() {
    static POOL: SpinPool<Host, 2, 4> = SpinPool::new();
    thread::scope(|threads| {
        let installed = threads.spawn(|| POOL.install(|worker| worker.index()));
        threads.spawn(|| POOL.run_worker(1));
        assert_eq!(installed.join().unwrap(), 1, "it has waited for a worker");
        POOL.end();
    });
}

/// What a worker leaves on its deque is run by others, also by those that sleep.
#[test]
fn work_moves_on_when_a_worker_leaves() {
    static POOL: SpinPool<Host, 2, 64> = SpinPool::new();
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
            assert_eq!(other.join().unwrap(), Ok(Left::Released));
        });
    }
}

#[test]
fn a_released_worker_comes_back() {
    static POOL: SpinPool<Host, 2, 64> = SpinPool::new();
    assert_eq!(POOL.release_worker(0), Err(ReleaseError::Absent));
    let comes_back = AtomicBool::new(true);
    thread::scope(|threads| {
        threads.spawn(|| POOL.run_worker(1).unwrap());
        let restless = threads.spawn(|| {
            let mut times = 0;
            while comes_back.load(SeqCst) {
                assert_eq!(POOL.run_worker(0), Ok(Left::Released));
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
    static POOL: SpinPool<Host, 2, 64> = SpinPool::new();
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
        assert_eq!(POOL.run_worker(0), Ok(Left::Ended));
        assert_eq!(POOL.restart(), Ok(()));
        assert_eq!(POOL.restart(), Err(StillRunning));
    }
}

/// The word of the end reaches a worker that has come and does not wait for it yet.
#[test]
fn an_end_just_as_a_worker_comes() {
    static POOL: SpinPool<Host, 1, 2> = SpinPool::new();
    let round = Barrier::new(2);
    let rounds = times(20_000);
    thread::scope(|threads| {
        threads.spawn(|| {
            for _ in 0..rounds {
                round.wait();
                assert_eq!(POOL.run_worker(0), Ok(Left::Ended));
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

/// Jobs that nobody had run when the pool ended are run after its restart.
#[test]
fn a_restart_finds_the_jobs_that_were_left() {
    static POOL: SpinPool<Host, 1, 64> = SpinPool::new();
    static RUNS: AtomicU32 = AtomicU32::new(0);
    POOL.spawn(|_| {
        RUNS.fetch_add(1, SeqCst);
    })
    .unwrap();
    POOL.end();
    assert_eq!(RUNS.load(SeqCst), 0);
    POOL.restart().unwrap();
    with_workers(&POOL, || ());
    assert_eq!(RUNS.load(SeqCst), 1);
}

#[test]
fn a_second_end_does_nothing() {
    static POOL: SpinPool<Host, 1, 2> = SpinPool::new();
    with_workers(&POOL, || {});
    POOL.end();
}

#[test]
#[should_panic(expected = "the pool has ended")]
fn installing_after_the_end_is_refused() {
    static POOL: SpinPool<Host, 1, 2> = SpinPool::new();
    POOL.end();
    POOL.install(|_| ());
}
