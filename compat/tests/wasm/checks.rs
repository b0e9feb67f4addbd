//! What each thread of a program can do with the global pool, through rayon and through pool-std.

use std::{
    hint::black_box,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use rayon::prelude::*;

/// The checks, and what each is called.
pub const CHECKS: [(&str, fn()); 7] = [
    ("iterators on the global pool", iterators),
    ("join, scope and broadcast", jobs),
    ("spawned jobs", spawned_jobs),
    ("long jobs, for which the thread waits", long_jobs),
    ("handles", handles),
    ("futures", futures),
    ("isolated calls", isolated_calls),
];

fn iterators() {
    for _ in 0..20 {
        let sum: u64 = (1..=100_000_u64)
            .into_par_iter()
            .map(|number| number * 2)
            .sum();
        assert_eq!(sum, 10_000_100_000);
    }
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

    assert_eq!(fib(20), 6_765);
    assert_eq!(rayon::current_num_threads(), rayon::broadcast(|_| ()).len());
    let scoped = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for _ in 0..1_000 {
            scope.spawn(|scope| {
                scope.spawn(|_| _ = scoped.fetch_add(1, SeqCst));
                scoped.fetch_add(1, SeqCst);
            });
        }
    });
    rayon::in_place_scope(|scope| {
        for _ in 0..1_000 {
            scope.spawn(|scope| scope.spawn(|_| _ = scoped.fetch_add(1, SeqCst)));
        }
    });
    assert_eq!(scoped.into_inner(), 3_000);
}

fn spawned_jobs() {
    static SPAWNED: AtomicUsize = AtomicUsize::new(0);

    let before = SPAWNED.load(SeqCst);
    for _ in 0..100 {
        rayon::spawn(|| _ = SPAWNED.fetch_add(1, SeqCst));
    }
    while SPAWNED.load(SeqCst) < before + 100 {
        std::thread::yield_now();
    }
}

/// Works for some milliseconds.
fn long() -> u32 {
    (0..3_000_000_u32).fold(1, |sum, n| black_box(sum.wrapping_mul(31) ^ n))
}

fn long_jobs() {
    let expected = long();
    for _ in 0..5 {
        assert_eq!(rayon::join(long, long), (expected, expected));
        let all = rayon::broadcast(|_| long());
        assert!(all.iter().all(|&one| one == expected));
        // Without a lock of the standard library, since this thread runs some of these jobs.
        let right = AtomicUsize::new(0);
        rayon::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|_| _ = right.fetch_add(usize::from(long() == expected), SeqCst));
            }
        });
        assert_eq!(right.into_inner(), 8);
    }
}

fn handles() {
    let jobs: Vec<_> = (0..100_u64)
        .map(|number| pool_std::spawn_handle(move || number * number))
        .collect();
    let sum: u64 = jobs.into_iter().map(|job| job.join().unwrap()).sum();
    assert_eq!(sum, 328_350);
    for _ in 0..10 {
        assert_eq!(pool_std::spawn_handle(long).join().unwrap(), long());
    }
}

fn futures() {
    for _ in 0..10 {
        let left = pool_std::spawn_handle(long);
        let sum = pool_std::spawn_future(async { left.await.unwrap().wrapping_add(2) });
        assert_eq!(pool_std::block_on(sum).unwrap(), long().wrapping_add(2));
    }
}

fn isolated_calls() {
    for _ in 0..100 {
        let both = pool_std::isolate(|| pool_std::join(|| 1, || 2));
        assert_eq!(both, (1, 2));
    }
}
