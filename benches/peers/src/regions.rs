//! The groups `regions` and `regions-busy`: a program that has a small parallel region every few
//! microseconds, as a language model has for each token. Over the size of the region they show
//! where parallel begins to pay.

mod spinning;

use std::{
    hint::black_box,
    rc::Rc,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use protocol::{Case, Unit};

use crate::{
    computation::{ROUNDS_PER_MICROSECOND, compute_rounds},
    fork_join::ForkJoin,
    pools::{Lazy, Pool, Pools},
};

/// As many workers as small machines have processors, and more than that.
const THREADS: [usize; 2] = [2, 8];
/// How long a region takes on one thread, in tenths of a microsecond.
const SIZES: [u32; 8] = [2, 10, 30, 100, 300, 1_000, 3_000, 10_000];
/// As many regions as a run has, unless the time is over before.
const REGIONS: u32 = 200;
const LONGEST_RUN: Duration = Duration::from_millis(400);
/// The caller's own work between two regions, in microseconds.
const BETWEEN: u32 = 5;
/// A region has as many leaves as this, if they are not smaller than that.
const MOST_LEAVES: u32 = 16;
const LEAST_LEAF: u32 = 14;
/// In which the workers go to sleep.
const NAP: Duration = Duration::from_millis(3);

/// A pool that runs regions for a thread outside.
trait Regions: Pool {
    /// Runs a region: so many leaves of so many rounds each.
    fn region(&self, leaves: u32, rounds: u32);
}

impl<P: ForkJoin> Regions for P {
    fn region(&self, leaves: u32, rounds: u32) {
        self.call(|context| split::<P>(context, leaves, rounds));
    }
}

fn split<P: ForkJoin>(context: &mut P::Context<'_>, leaves: u32, rounds: u32) {
    if leaves == 1 {
        black_box(compute_rounds(rounds));
        return;
    }
    let half = leaves / 2;
    P::join(
        context,
        |context| split::<P>(context, half, rounds),
        |context| split::<P>(context, leaves - half, rounds),
    );
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in THREADS {
        let pools = Pools::new(threads);
        for size in SIZES {
            cases.extend(size_cases("regions", &pools, size));
        }
    }
    let pools = Pools::new(THREADS[0]);
    for size in SIZES {
        cases.extend(size_cases("regions-busy", &pools, size));
    }
    let cases = cases.into_iter().map(|case| case.repetitions(9));
    cases.collect()
}

fn size_cases(group: &'static str, pools: &Pools, size: u32) -> [Case; 5] {
    [
        case(group, &pools.ours, size),
        case(group, &pools.rayon, size),
        case(group, &pools.chili, size),
        spinning::case(group, pools.threads(), size),
        case(group, &pools.sequential, size),
    ]
}

fn case<P: Regions>(group: &'static str, pool: &Rc<Lazy<P>>, size: u32) -> Case {
    let (threads, pool) = (pool.threads(), pool.clone());
    named::<P>(group, threads, size, move || {
        measure(group, pool.get(), size)
    })
}

fn named<P: Pool>(
    group: &str,
    threads: usize,
    size: u32,
    run: impl FnMut() -> f64 + 'static,
) -> Case {
    let name = format!("{}us", f64::from(size) / 10.0);
    Case::new(group, &name, threads, P::SYSTEM, Unit::Microseconds, run)
}

/// Returns the time of a region and of the work before it.
fn measure<P: Regions>(group: &str, pool: &P, size: u32) -> f64 {
    if group == "regions-busy" {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        black_box(compute_rounds(ROUNDS_PER_MICROSECOND));
                    }
                });
            }
            let time = run(pool, size);
            is_over.store(true, Ordering::Relaxed);
            time
        })
    } else {
        run(pool, size)
    }
}

fn run<P: Regions>(pool: &P, size: u32) -> f64 {
    let rounds = size * ROUNDS_PER_MICROSECOND / 10;
    let leaves = (rounds / LEAST_LEAF).clamp(1, MOST_LEAVES);
    // What is done only once: memory, threads, caches.
    pool.region(leaves, 1);
    thread::sleep(NAP);
    let start = Instant::now();
    let mut regions = 0;
    while regions < REGIONS && start.elapsed() < LONGEST_RUN {
        black_box(compute_rounds(BETWEEN * ROUNDS_PER_MICROSECOND));
        pool.region(leaves, rounds / leaves);
        regions += 1;
    }
    Unit::Microseconds.of(start.elapsed()) / f64::from(regions)
}
