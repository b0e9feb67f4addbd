//! Random programs, each of whose traces is checked.

use std::panic::{catch_unwind, resume_unwind};

use pool_std::{ThreadPool, ThreadPoolBuilder, join, scope};

use super::{checker, workers};

const RUNS: u64 = if cfg!(miri) { 3 } else { 1_000 };
const EVENTS: usize = 20_000;

/// A small generator of numbers, so that a run repeats.
#[derive(Clone, Copy)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % end
    }

    fn fork(&mut self) -> Self {
        Self(self.0 ^ self.below(u64::MAX >> 34))
    }
}

/// Does something at random that may do more of it.
fn work(mut random: Random, depth: u32) {
    if depth == 0 {
        return;
    }
    let (first, second) = (random.fork(), random.fork());
    match random.below(6) {
        0 | 1 => {
            join(|| work(first, depth - 1), || work(second, depth - 1));
        }
        2 => scope(|scope| {
            for _ in 0..random.below(20) {
                scope.spawn(move |_| work(first, depth.saturating_sub(2)));
            }
        }),
        3 => pool_std::spawn(move || work(first, depth - 1)),
        4 => _ = catch_unwind(|| join(|| work(first, depth - 1), || resume_unwind(Box::new(())))),
        _ => pool_std::isolate(|| work(first, depth - 1)),
    }
}

fn run(seed: u64) -> ThreadPool {
    let mut random = Random(seed);
    let threads = 1 + random.below(4) as usize;
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder.guests(random.below(2) == 0);
    let pool = builder.trace(EVENTS).build().unwrap();
    for _ in 0..4 {
        let job = random.fork();
        match random.below(4) {
            0 => pool.install(|| work(job, 6)),
            3 => pool.call(|| work(job, 6)),
            1 => pool.spawn(move || work(job, 6)),
            _ => _ = pool.broadcast(|_| work(job, 3)),
        }
    }
    pool.wait_idle().unwrap();
    pool
}

#[test]
fn random_runs_leave_legal_histories() {
    let mut events = 0;
    for seed in 0..RUNS {
        let pool = run(seed);
        events += checker::check(&pool).unwrap_or_else(|error| {
            for worker in workers(&pool.trace()) {
                println!("worker {}: {:#?}", worker.index(), worker.events());
            }
            panic!("seed {seed}: {error}")
        });
    }
    assert!(events as u64 > 20 * RUNS, "only {events} events");
}
