//! pool-spin with what a fork-join program uses.
#![no_std]
#![no_main]

use core::hint::black_box;

use pool_spin::{SpinPool, Worker};
use size::OneCore;

static POOL: SpinPool<OneCore, 2, 16> = SpinPool::new();

fn fib(worker: Worker<'_, OneCore, 2, 16>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|worker| fib(worker, n - 1), |worker| fib(worker, n - 2));
    a + b
}

/// Where the linker begins.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    loop {
        black_box(POOL.install(|worker| fib(worker, black_box(10))));
        let _ = black_box(POOL.run_worker(black_box(0)));
    }
}
