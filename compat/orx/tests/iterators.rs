//! Iterators of orx-parallel on pools of pool-std.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use orx_parallel::*;
use pool_std::ThreadPoolBuilder;
use pool_std_orx::{GlobalPool, OnPool};

const LENGTH: usize = 10_000;

fn pool(num_threads: usize) -> pool_std::ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(num_threads);
    builder.build().unwrap()
}

#[test]
fn results_are_those_of_the_standard_library() {
    let input: Vec<usize> = (0..LENGTH).rev().collect();
    for num_threads in [1, 2, 5] {
        let pool = pool(num_threads);
        let on = OnPool(&pool);
        let doubled: Vec<_> = input
            .par()
            .runner(Runner::fixed_with_pool(on))
            .map(|n| n * 2)
            .collect();
        assert!(doubled.iter().copied().eq(input.iter().map(|n| n * 2)));
        let odd = input
            .par()
            .runner(Runner::fixed_with_pool(on))
            .filter(|n| *n % 2 == 1)
            .count();
        assert_eq!(odd, LENGTH / 2);
        let sum = input
            .par()
            .runner(Runner::fixed_with_pool(on))
            .copied()
            .sum();
        assert_eq!(sum, LENGTH * (LENGTH - 1) / 2);
        assert_eq!(
            input.par().runner(Runner::fixed_with_pool(on)).max(),
            Some(&(LENGTH - 1))
        );
        let first = input
            .par()
            .runner(Runner::fixed_with_pool(on))
            .find(|n| **n < 7);
        assert_eq!(first, Some(&6));
        assert_eq!(
            (0..0).into_par().runner(Runner::fixed_with_pool(on)).sum(),
            0
        );
    }
}

/// The closures run on workers of the pool, and on no other thread.
#[test]
fn the_workers_of_the_pool_run_the_closures() {
    let pool = pool(3);
    let workers = Mutex::new(Vec::new());
    let on = OnPool(&pool);
    (0..LENGTH)
        .into_par()
        .runner(Runner::fixed_with_pool(on))
        .for_each(|_| {
            let worker = pool.current_thread_index().expect("a worker of the pool");
            workers.lock().unwrap().push(worker);
        });
    let workers = workers.into_inner().unwrap();
    assert_eq!(workers.len(), LENGTH);
    assert!(workers.iter().all(|worker| *worker < 3));
}

/// In a job, the current pool is that of its worker.
#[test]
fn a_computation_in_a_job_uses_the_pool_of_its_worker() {
    let pool = pool(2);
    let count = AtomicUsize::new(0);
    pool.install(|| {
        assert_eq!(GlobalPool.max_num_threads().get(), 2);
        (0..LENGTH)
            .into_par()
            .runner(Runner::fixed_with_pool(GlobalPool))
            .for_each(|_| {
                assert!(pool.current_thread_index().is_some());
                count.fetch_add(1, SeqCst);
            });
    });
    assert_eq!(count.into_inner(), LENGTH);
    // Outside, it is the global one.
    let sum = (0..LENGTH)
        .into_par()
        .runner(Runner::fixed_with_pool(GlobalPool))
        .sum();
    assert_eq!(sum, LENGTH * (LENGTH - 1) / 2);
}

#[test]
fn computations_are_nested() {
    let pool = pool(2);
    let on = OnPool(&pool);
    let sums: Vec<usize> = (0..20)
        .into_par()
        .runner(Runner::fixed_with_pool(on))
        .map(|n| {
            (0..n)
                .into_par()
                .runner(Runner::fixed_with_pool(GlobalPool))
                .sum::<usize>()
        })
        .collect();
    assert!(sums.into_iter().eq((0..20).map(|n| n * (n.max(1) - 1) / 2)));
}

#[test]
fn a_panic_continues_in_the_caller() {
    let pool = pool(2);
    let on = OnPool(&pool);
    let panics = || {
        (0..LENGTH)
            .into_par()
            .runner(Runner::fixed_with_pool(on))
            .for_each(|n| {
                assert!(n < LENGTH / 2, "the second half");
            });
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert_eq!(
        (0..10).into_par().runner(Runner::fixed_with_pool(on)).sum(),
        45
    );
}
