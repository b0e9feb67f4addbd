//! Pools with more workers than the process has processors.

use std::{
    hint::black_box,
    sync::{
        Barrier, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use pool_std::{ParkerKind, ThreadPool, ThreadPoolBuilder};

/// Returns a pool with twice as many workers as processors.
fn crowded() -> ThreadPool {
    crowded_with(ParkerKind::default())
}

fn crowded_with(parker: ParkerKind) -> ThreadPool {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let builder = ThreadPoolBuilder::new().num_threads(2 * processors);
    builder.parker(parker).build().unwrap()
}

/// Runs this number of copies of a closure by joins.
fn in_parallel(copies: usize, closure: &(impl Fn() + Sync)) {
    if copies == 1 {
        return closure();
    }
    let half = copies / 2;
    pool_std::join(
        || in_parallel(half, closure),
        || in_parallel(copies - half, closure),
    );
}

/// Keeps the pool busy with short jobs for a while, so that workers fall asleep while others are
/// active.
fn warm_up(copies: usize) {
    let end = Instant::now() + Duration::from_millis(15);
    while Instant::now() < end {
        in_parallel(copies, &|| {
            for number in 0..1_000 {
                black_box(number);
            }
        });
    }
}

/// No worker is woken for a join while as many are awake as there are processors. These jobs block,
/// of which the pool knows nothing, and each needs all of the others.
#[test]
fn jobs_of_joins_that_block_get_all_workers() {
    for parker in [ParkerKind::Condvar, ParkerKind::Futex] {
        let pool = crowded_with(parker);
        let workers = pool.current_num_threads();
        let barrier = Barrier::new(workers);
        pool.install(|| {
            for _ in 0..5 {
                warm_up(workers);
                in_parallel(workers, &|| _ = barrier.wait());
            }
        });
    }
}

/// The same with jobs that block until the pool is notified.
#[test]
fn jobs_of_joins_that_say_that_they_block_get_all_workers() {
    let pool = crowded();
    let workers = pool.current_num_threads();
    let (arrived, all) = (Mutex::new(0), Condvar::new());
    pool.install(|| {
        for round in 1..=5 {
            warm_up(workers);
            in_parallel(workers, &|| {
                let mut arrived = arrived.lock().unwrap();
                *arrived += 1;
                all.notify_all();
                pool_std::blocking("the others", |_| {
                    drop(
                        all.wait_while(arrived, |arrived| *arrived < round * workers)
                            .unwrap(),
                    );
                });
            });
        }
    });
}

/// The same with jobs that keep their processors meanwhile. A job waits for a while then, but not
/// for good.
#[test]
fn jobs_of_joins_that_spin_get_all_workers() {
    let pool = crowded();
    let workers = pool.current_num_threads();
    let arrived = AtomicUsize::new(0);
    pool.install(|| {
        warm_up(workers);
        in_parallel(workers, &|| {
            arrived.fetch_add(1, Ordering::Relaxed);
            while arrived.load(Ordering::Relaxed) < workers {
                thread::yield_now();
            }
        });
    });
}

/// Jobs that no other thread runs wake a worker in any case.
#[test]
fn spawned_jobs_get_all_workers_at_once() {
    let pool = crowded();
    let workers = pool.current_num_threads();
    let barrier = Barrier::new(workers);
    pool.install(|| {
        for _ in 0..20 {
            warm_up(workers);
            pool_std::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|_| _ = barrier.wait());
                }
            });
        }
    });
}

/// Workers that are parked do not count as awake.
#[test]
fn joins_wake_workers_while_others_are_parked() {
    let pool = crowded();
    let workers = pool.current_num_threads();
    let wanted = workers / 2 + 1;
    pool.set_active_workers(wanted).unwrap();
    let barrier = Barrier::new(wanted);
    pool.install(|| {
        warm_up(workers);
        in_parallel(wanted, &|| _ = barrier.wait());
    });
}
