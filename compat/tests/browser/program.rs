//! A program in a browser: rayon on the pool, and the pool itself, from the main thread, which must
//! not wait, and from another one. Each check tells the page its name when it has passed.

use std::{
    panic,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

use rayon::prelude::*;
use wasm_bindgen::prelude::*;

pub use wasm_bindgen_rayon::init_thread_pool;

#[wasm_bindgen]
extern "C" {
    /// Of the page and of its thread.
    #[wasm_bindgen(js_name = tell)]
    fn tell(text: &str);
}

#[wasm_bindgen(start)]
fn start() {
    panic::set_hook(Box::new(|panic| tell(&format!("error: {panic}"))));
}

#[wasm_bindgen]
pub fn checks() {
    let checks: [(&str, fn()); 6] = [
        ("iterators on the global pool", iterators),
        ("join, scope, spawn and broadcast", jobs),
        ("long jobs, for which the thread waits", long_jobs),
        ("handles", handles),
        ("futures", futures),
        ("isolated calls", isolated_calls),
    ];
    for (name, check) in checks {
        check();
        tell(name);
    }
}

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
}

fn fib(n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (first, second) = rayon::join(|| fib(n - 1), || fib(n - 2));
    first + second
}

fn jobs() {
    assert_eq!(fib(20), 6_765);
    assert_eq!(rayon::current_num_threads(), rayon::broadcast(|_| ()).len());
    // Memory of jobs, and their queues, are behind locks that all of them take.
    let scoped = AtomicUsize::new(0);
    rayon::scope(|scope| {
        for _ in 0..1_000 {
            scope.spawn(|scope| {
                scope.spawn(|_| _ = scoped.fetch_add(1, SeqCst));
                _ = scoped.fetch_add(1, SeqCst);
            });
        }
    });
    assert_eq!(scoped.into_inner(), 2_000);
    let in_place = AtomicUsize::new(0);
    rayon::in_place_scope(|scope| {
        for _ in 0..1_000 {
            scope.spawn(|scope| scope.spawn(|_| _ = in_place.fetch_add(1, SeqCst)));
        }
    });
    assert_eq!(in_place.into_inner(), 1_000);
}

/// Works for some milliseconds.
fn long() -> u32 {
    (0..3_000_000_u32).fold(1, |sum, n| std::hint::black_box(sum.wrapping_mul(31) ^ n))
}

fn long_jobs() {
    let expected = long();
    for _ in 0..5 {
        assert_eq!(rayon::join(long, long), (expected, expected));
        let all = rayon::broadcast(|_| long());
        assert!(all.iter().all(|&one| one == expected));
        // Without a lock of the standard library: this thread runs some of these jobs.
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
        pool_std::spawn_handle(long).join().unwrap();
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
