//! pool-spin with the functions of a fork-join program.
#![no_std]
#![no_main]

use core::hint::black_box;

use size::{Pool, fib};

static POOL: Pool = Pool::new();

/// Runs the program: the linker begins here.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    loop {
        black_box(POOL.install(|worker| fib(worker, black_box(10))));
        let _ = black_box(POOL.run_worker(black_box(0)));
    }
}
