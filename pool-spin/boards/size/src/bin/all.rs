//! pool-spin with all its functions.
#![no_std]
#![no_main]

use core::hint::black_box;

use pool_spin::Task;
use size::{Chip, Pool, fib};

static POOL: Pool = Pool::new();
static TASK: Task<Chip> = Task::new(|worker| {
    black_box(worker.index());
});

/// Runs the program: the linker begins here.
#[unsafe(no_mangle)]
pub extern "C" fn _start() -> ! {
    loop {
        black_box(POOL.install(|worker| fib(worker, black_box(10))));
        let number = black_box(7);
        POOL.install(|worker| {
            worker.scope(|scope| {
                scope.spawn(|worker, _| {
                    black_box(worker.index() + number);
                });
            });
        });
        let _ = black_box(POOL.spawn_task(&TASK));
        let _ = POOL.spawn(|worker| worker.spawn(|_| ()));
        black_box(POOL.broadcast(|worker| worker.index()));
        let _ = black_box(POOL.release_worker(black_box(1)));
        let _ = black_box(POOL.run_worker(black_box(0)));
        POOL.end();
        let _ = black_box(POOL.restart());
    }
}
