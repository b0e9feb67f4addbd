//! The group `spawn`: what a job costs whose result is not awaited.

use std::sync::atomic::{AtomicUsize, Ordering};

use protocol::{Case, Unit, time};

use crate::{
    latch::Latch,
    pools::Pools,
    spawning::{Spawning, on_both},
};

/// So many jobs are spawned and waited for, so often.
const JOBS: usize = 10_000;
const ROUNDS: usize = 10;
const BROADCASTS: usize = 1000;
/// Of nested scopes: there are 17,710 then.
const DEPTH: u32 = 21;
/// The number of jobs of a tree of jobs that end in leaves, which count themselves.
const TREE: usize = 2 * LEAVES - 1;
const LEAVES: usize = 1 << 14;

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    let on_both = |name, unit, ours, rayon| on_both("spawn", name, unit, pools, ours, rayon);
    let (per_job, each) = (Unit::Nanoseconds, Unit::Microseconds);
    let mut cases = on_both("external-spawn", per_job, spawn, spawn);
    cases.extend(on_both("external-many", per_job, spawn_many, spawn_many));
    cases.extend(on_both("spawn-tree", per_job, tree, tree));
    cases.extend(on_both("scope-spawn", per_job, scope, scope));
    cases.extend(on_both("scope-many", per_job, scope_many, scope_many));
    cases.extend(on_both("scope-nested", per_job, nested, nested));
    cases.extend(on_both("spawn-fifo", per_job, fifo, fifo));
    cases.extend(on_both("results", per_job, results, results));
    cases.extend(on_both("broadcast", each, broadcast, broadcast));
    cases
}

/// Counts the jobs that are spawned from a thread outside the pool.
static LATCH: Latch = Latch::new();

fn spawn<P: Spawning>(pool: &P) -> f64 {
    from_outside(|| (0..JOBS).for_each(|_| pool.spawn(|| LATCH.count_down())))
}

/// All jobs in one call, by a system that can.
fn spawn_many<P: Spawning>(pool: &P) -> f64 {
    from_outside(|| pool.spawn_many(JOBS, || LATCH.count_down()))
}

/// Nanoseconds per job of rounds that each spawn [`JOBS`] jobs, which count down the latch.
fn from_outside(round: impl Fn()) -> f64 {
    let time = time(|| {
        for _ in 0..ROUNDS {
            LATCH.expect(JOBS);
            round();
            LATCH.wait();
        }
    });
    Unit::Nanoseconds.of(time) / (ROUNDS * JOBS) as f64
}

/// Jobs that each spawn two others.
fn tree<P: Spawning>(pool: &P) -> f64 {
    fn grow<P: Spawning>(leaves: usize) {
        if leaves == 1 {
            return LATCH.count_down();
        }
        for _ in 0..2 {
            P::spawn_here(move || grow::<P>(leaves / 2));
        }
    }
    let time = time(|| {
        for _ in 0..ROUNDS {
            LATCH.expect(LEAVES);
            pool.spawn(|| grow::<P>(LEAVES));
            LATCH.wait();
        }
    });
    Unit::Nanoseconds.of(time) / (ROUNDS * TREE) as f64
}

fn scope<P: Spawning>(pool: &P) -> f64 {
    nanoseconds_per_job(|done| pool.spawn_in_scope(JOBS, done))
}

fn scope_many<P: Spawning>(pool: &P) -> f64 {
    nanoseconds_per_job(|done| pool.spawn_many_in_scope(JOBS, done))
}

fn nested<P: Spawning>(pool: &P) -> f64 {
    let mut scopes = 0;
    let time = time(|| scopes = (0..ROUNDS).map(|_| pool.nest_scopes(DEPTH)).sum());
    Unit::Nanoseconds.of(time) / scopes as f64
}

fn fifo<P: Spawning>(pool: &P) -> f64 {
    nanoseconds_per_job(|done| pool.spawn_in_order(JOBS, done))
}

/// Results of jobs that no scope waits for: a handle, or a channel where there are none.
fn results<P: Spawning>(pool: &P) -> f64 {
    nanoseconds_per_job(|done| {
        let sum = pool.spawn_with_results(JOBS);
        assert_eq!(sum, JOBS * (JOBS - 1) / 2);
        done.fetch_add(JOBS, Ordering::Relaxed);
    })
}

/// Of rounds that each spawn [`JOBS`] jobs, which count themselves.
fn nanoseconds_per_job(round: impl Fn(&AtomicUsize)) -> f64 {
    let done = AtomicUsize::new(0);
    let time = time(|| (0..ROUNDS).for_each(|_| round(&done)));
    assert_eq!(done.into_inner(), ROUNDS * JOBS);
    Unit::Nanoseconds.of(time) / (ROUNDS * JOBS) as f64
}

fn broadcast<P: Spawning>(pool: &P) -> f64 {
    let done = AtomicUsize::new(0);
    let count = || {
        done.fetch_add(1, Ordering::Relaxed);
    };
    let mut expected = 0;
    let time = time(|| {
        for _ in 0..BROADCASTS {
            expected += pool.broadcast(count);
        }
    });
    assert_eq!(done.into_inner(), expected);
    Unit::Microseconds.of(time) / BROADCASTS as f64
}
