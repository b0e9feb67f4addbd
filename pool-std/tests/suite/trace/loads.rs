//! Loads as the bench has them, with each way to sleep: each transition of each worker is legal.
//!
//! `POOL_STD_TRANSITIONS` sets how many transitions are checked.

use std::{env, thread, time::Duration};

use pool_std::{
    IdlePolicy, JoinHandle, Scope, SleepKind, ThreadPool, ThreadPoolBuilder, block_in_place, join,
};

use super::checker::History;

/// How many transitions are checked by default.
const TRANSITIONS: usize = if cfg!(miri) { 2_000 } else { 300_000 };
const VARIABLE: &str = "POOL_STD_TRANSITIONS";

const EVENTS: usize = if cfg!(miri) { 2_000 } else { 50_000 };
/// A load is about so many jobs.
const JOBS: usize = if cfg!(miri) { 20 } else { 1_000 };

/// A name, and what a thread outside the pool does with it.
type Load = (&'static str, fn(&ThreadPool));

const LOADS: &[Load] = &[
    ("joins with leaves of unlike length", |pool| {
        pool.install(|| tree(JOBS));
    }),
    ("a scope of spawns", |pool| {
        pool.scope(|scope| (0..JOBS).for_each(|job| scope.spawn(move |_| leaf(job))));
    }),
    ("a scope of spawns in their order", |pool| {
        pool.scope_fifo(|scope| (0..JOBS).for_each(|job| scope.spawn_fifo(move |_| leaf(job))));
    }),
    ("a tree of spawns", |pool| {
        pool.scope(|scope| spawn_tree(scope, JOBS.ilog2()));
    }),
    ("many at once", |pool| {
        pool.scope(|scope| scope.spawn_many((0..JOBS).map(|job| move |_: &_| leaf(job))));
    }),
    ("jobs from outside", |pool| {
        (0..JOBS).for_each(|job| pool.spawn(move || leaf(job)));
    }),
    ("jobs from time to time", |pool| {
        for job in 0..JOBS / 20 {
            pool.install(|| leaf(job));
            thread::sleep(Duration::from_micros(100));
        }
    }),
    ("guests", |pool| {
        for job in 0..JOBS / 20 {
            pool.call(|| tree(job));
        }
    }),
    ("jobs of all workers", |pool| {
        for job in 0..JOBS / 50 {
            pool.broadcast(|_| leaf(job));
        }
    }),
    ("handles", |pool| {
        let handles: Vec<_> = (0..JOBS)
            .map(|job| pool.spawn_handle(move || leaf(job)))
            .collect();
        handles.into_iter().try_for_each(JoinHandle::join).unwrap();
    }),
    ("urgent jobs and others", |pool| {
        for job in 0..JOBS {
            match job % 3 {
                0 => pool.spawn_urgent(move || leaf(job)),
                1 => pool.spawn_background(move || leaf(job)),
                _ => pool.spawn(move || leaf(job)),
            }
        }
    }),
    ("waits in isolation", |pool| {
        pool.scope(|scope| {
            for job in 0..JOBS / 50 {
                scope.spawn(move |_| pool_std::isolate(|| tree(job)));
            }
        });
    }),
    ("workers that are lent", |pool| {
        pool.scope(|scope| {
            for job in 0..JOBS / 50 {
                scope.spawn(move |_| {
                    block_in_place(|| thread::sleep(Duration::from_micros(50)));
                    leaf(job);
                });
            }
        });
    }),
];

/// Takes longer from time to time.
fn leaf(job: usize) {
    let rounds = if job.is_multiple_of(64) { 5_000 } else { 50 };
    (0..rounds).for_each(|round| _ = std::hint::black_box(round));
}

fn tree(leaves: usize) {
    match leaves {
        0 | 1 => leaf(leaves),
        _ => {
            let first = leaves.div_ceil(3);
            join(|| tree(first), || tree(leaves - first));
        }
    }
}

fn spawn_tree<'s>(scope: &Scope<'s>, depth: u32) {
    leaf(depth as usize);
    for _ in 0..u32::min(2, depth) {
        scope.spawn(move |scope| spawn_tree(scope, depth - 1));
    }
}

/// Returns the settings of a turn, and their names.
fn builder(turn: usize) -> (ThreadPoolBuilder, String) {
    let policies = [IdlePolicy::DEFAULT, IdlePolicy::IMMEDIATE];
    let threads = [1, 2, 4, 8, 64][turn % 5];
    let sleep = SleepKind::ALL[turn / 5 % SleepKind::ALL.len()];
    let policy = policies[turn / 15 % policies.len()];
    let builder = ThreadPoolBuilder::new().num_threads(threads).sleep(sleep);
    let builder = builder.idle_policy(policy).guests(true).trace(EVENTS);
    let name = format!("{sleep:?} with {threads} workers");
    (builder, name)
}

#[test]
fn the_transitions_of_all_loads_are_legal() {
    let wanted = env::var(VARIABLE).map_or(TRANSITIONS, |it| it.parse().expect(VARIABLE));
    let (mut seen, mut turn) = (0, 0);
    while seen < wanted {
        for (load_name, load) in LOADS {
            let (builder, name) = builder(turn);
            let pool = builder.build().unwrap();
            load(&pool);
            pool.wait_idle().unwrap();
            let checked = History::of(&pool).check();
            seen += checked.unwrap_or_else(|error| panic!("{load_name}, {name}: {error}"));
        }
        turn += 1;
    }
    println!("{seen} transitions");
}
