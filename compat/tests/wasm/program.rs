//! A program in WebAssembly with threads: rayon on the pool, and the pool itself. Each check prints
//! its name when it has passed.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    thread,
    time::Duration,
};

use pool_std::{CancelToken, IdlePolicy, ParkerKind, SleepKind};
use rayon::prelude::*;

fn main() {
    let checks: [(&str, fn()); 8] = [
        (
            "iterators on the global pool, from the main thread",
            iterators,
        ),
        ("join, scope and spawn on the global pool", jobs),
        ("install and broadcast on a pool of rayon", pools),
        ("handles, and a wait with a limit of time", handles),
        ("futures", futures),
        ("an isolated call of a guest", isolated_guests),
        ("workers that sleep after each job, in each way", sleeps),
        ("the end of a pool", end),
    ];
    for (name, check) in checks {
        check();
        println!("{name}");
    }
}

fn iterators() {
    let sum: u64 = (1..=100_000_u64)
        .into_par_iter()
        .map(|number| number * 2)
        .sum();
    assert_eq!(sum, 10_000_100_000);
    let mut numbers: Vec<u32> = (0..50_000)
        .map(|number: u32| number.wrapping_mul(0x9e37_79b9))
        .collect();
    numbers.par_sort_unstable();
    assert!(numbers.is_sorted());
    assert_eq!(
        (0..10_000).into_par_iter().find_any(|&it| it == 9_999),
        Some(9_999)
    );
}

fn jobs() {
    fn fib(n: u32) -> u32 {
        if n < 2 {
            return n;
        }
        let (first, second) = rayon::join(|| fib(n - 1), || fib(n - 2));
        first + second
    }
    static SPAWNED: AtomicUsize = AtomicUsize::new(0);

    assert_eq!(fib(20), 6_765);
    let scoped = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for _ in 0..1_000 {
            scope.spawn(|_| _ = scoped.fetch_add(1, SeqCst));
        }
    });
    assert_eq!(scoped.into_inner(), 1_000);
    for _ in 0..100 {
        rayon::spawn(|| _ = SPAWNED.fetch_add(1, SeqCst));
    }
    while SPAWNED.load(SeqCst) < 100 {
        thread::yield_now();
    }
}

fn pools() {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(4)
        .build()
        .unwrap();
    assert_eq!(pool.install(rayon::current_num_threads), 4);
    let mut workers = pool.broadcast(|context| context.index());
    workers.sort_unstable();
    assert_eq!(workers, [0, 1, 2, 3]);
}

fn pool(workers: usize) -> pool_std::ThreadPool {
    pool_std::ThreadPoolBuilder::new()
        .num_threads(workers)
        .guests(true)
        .build()
        .unwrap()
}

fn handles() {
    let pool = pool(3);
    let jobs: Vec<_> = (0..100_u64)
        .map(|number| pool.spawn_handle(move || number * number))
        .collect();
    let sum: u64 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    assert_eq!(sum, 328_350);
    let mut slow = pool.spawn_handle(|| thread::sleep(Duration::from_millis(50)));
    while !slow.wait_timeout(Duration::from_millis(5)) {}
    slow.join().unwrap();
    let token = CancelToken::new();
    token.cancel();
    assert!(pool.spawn_handle_unless(&token, || ()).join().is_err());
}

fn futures() {
    let pool = pool(2);
    let left = pool.spawn_handle(|| 1);
    let sum = pool.spawn_future(async { left.await.unwrap() + 2 });
    assert_eq!(pool_std::block_on(sum).unwrap(), 3);
    let slow = pool.spawn_handle(|| thread::sleep(Duration::from_millis(50)));
    let join = || pool_std::isolate(|| pool_std::spawn_future(slow).join().unwrap());
    pool.install(join).unwrap();
}

fn isolated_guests() {
    let pool = pool(2);
    for _ in 0..100 {
        let both = pool.call(|| pool_std::isolate(|| pool_std::join(|| 1, || 2)));
        assert_eq!(both, (1, 2));
    }
}

fn sleeps() {
    for sleep in SleepKind::ALL.iter().copied() {
        let builder = pool_std::ThreadPoolBuilder::new()
            .num_threads(3)
            .sleep(sleep);
        let builder = builder
            .parker(ParkerKind::Futex)
            .idle_policy(IdlePolicy::IMMEDIATE);
        let pool = builder.build().unwrap();
        for round in 0..500 {
            assert_eq!(
                pool.install(|| pool_std::join(|| round, || round + 1)),
                (round, round + 1)
            );
        }
    }
}

fn end() {
    let pool = pool(4);
    let run = std::sync::Arc::new(AtomicUsize::new(0));
    for _ in 0..1_000 {
        let run = run.clone();
        pool.spawn(move || _ = run.fetch_add(1, SeqCst));
    }
    pool.wait_idle().unwrap();
    assert_eq!(run.load(SeqCst), 1_000);
    pool.shutdown().unwrap();
}
