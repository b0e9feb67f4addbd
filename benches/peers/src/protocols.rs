//! The group `protocols`: the same workloads by each sleep protocol of ours, and by the default one
//! with process fences before each sleep.

use std::{
    hint::black_box,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use pool_std::{SleepKind, ThreadPool, ThreadPoolBuilder, join};
use protocol::{Case, Unit, quantile, time};

use crate::{
    computation::spin,
    latch::Latch,
    pools::{Lazy, Pool, Pools},
    sparse::usage::Usage,
};

/// In which the workers go to sleep.
const NAP: Duration = Duration::from_millis(2);

/// What is measured, in which unit, and how.
type Workload = (&'static str, Unit, fn(&ThreadPool) -> f64);

const BURSTS: usize = 30;
const JOBS_OF_BURST: usize = 64;

const TRICKLE: usize = 200;
const TRICKLE_INTERVAL: Duration = Duration::from_millis(1);

const ITEMS: usize = 2_000;
/// What an item takes, to make and to use.
const ITEM: Duration = Duration::from_micros(2);

/// The tree has `fib(TREE + 1)` leaves.
const TREE: u32 = 27;
const JOINS_OF_TREE: f64 = 317_810.0;

const SLEEP_CYCLES: usize = 200;
const IDLENESS: Duration = Duration::from_millis(500);

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    // It takes two.
    let several = pools.iter().filter(|pools| pools.threads() > 1);
    several.flat_map(on_all).collect()
}

fn on_all(pools: &Pools) -> Vec<Case> {
    let threads = pools.threads();
    let systems: [(Rc<Lazy<ThreadPool>>, &str); 4] = [
        (pools.ours.clone(), ThreadPool::SYSTEM),
        (Lazy::built_by(threads, classic), "ours-classic"),
        (Lazy::built_by(threads, hints), "ours-hints"),
        (
            Lazy::built_by(threads, overlooking_none),
            "ours-overlook-none",
        ),
    ];
    let workloads: [Workload; 7] = [
        ("burst", Unit::Microseconds, burst),
        ("trickle-latency", Unit::Microseconds, trickle_latency),
        ("trickle-cpu", Unit::Microseconds, trickle_cpu),
        ("tree", Unit::Nanoseconds, tree),
        ("producer", Unit::Microseconds, producer),
        ("sleep-cycle", Unit::Microseconds, sleep_cycle),
        ("idle-cpu", Unit::Microseconds, idle_cpu),
    ];
    let mut cases = Vec::new();
    for (name, unit, measure) in workloads {
        for (pool, system) in &systems {
            let pool = pool.clone();
            let run = move || measure(pool.get());
            let case = Case::new("protocols", name, threads, system, unit, run);
            let needs_usage = name.ends_with("cpu") && !cfg!(unix);
            cases.push(if needs_usage {
                case.missing("no getrusage")
            } else {
                case
            });
        }
    }
    cases
}

fn with_kind(threads: usize, kind: SleepKind) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads).sleep(kind);
    builder.build().expect("a small pool")
}

fn classic(threads: usize) -> ThreadPool {
    with_kind(threads, SleepKind::Classic)
}

fn hints(threads: usize) -> ThreadPool {
    with_kind(threads, SleepKind::Hints)
}

fn overlooking_none(threads: usize) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let pool = builder.overlook_no_jobs(true).build();
    pool.expect("a small pool")
}

/// Microseconds until the last of many short jobs has ended that were spawned at once while all
/// workers slept.
fn burst(pool: &ThreadPool) -> f64 {
    static LATCH: Latch = Latch::new();
    let samples = (0..BURSTS).map(|_| {
        thread::sleep(NAP);
        Unit::Microseconds.of(time(|| {
            LATCH.expect(JOBS_OF_BURST);
            for _ in 0..JOBS_OF_BURST {
                pool.spawn(|| {
                    spin(ITEM);
                    LATCH.count_down();
                });
            }
            LATCH.wait();
        }))
    });
    quantile(samples.collect(), 0.5)
}

/// Microseconds from the spawn of a job to its beginning, if one comes now and then.
fn trickle_latency(pool: &ThreadPool) -> f64 {
    trickle(pool).0
}

/// Microseconds of processor time for each of these jobs, those of the thread that spawns included.
fn trickle_cpu(pool: &ThreadPool) -> f64 {
    trickle(pool).1
}

fn trickle(pool: &ThreadPool) -> (f64, f64) {
    static LATCH: Latch = Latch::new();
    let latencies: Arc<[_]> = (0..TRICKLE).map(|_| AtomicU64::new(0)).collect();
    pool.broadcast(|_| ());
    thread::sleep(NAP);
    let before = Usage::now();
    LATCH.expect(TRICKLE);
    for job in 0..TRICKLE {
        thread::sleep(TRICKLE_INTERVAL);
        let latencies = latencies.clone();
        let spawned = Instant::now();
        pool.spawn(move || {
            let nanoseconds = spawned.elapsed().as_nanos() as u64;
            latencies[job].store(nanoseconds, Ordering::Relaxed);
            spin(ITEM);
            LATCH.count_down();
        });
    }
    LATCH.wait();
    let cpu = Unit::Microseconds.of(Usage::since(before).cpu);
    let microseconds = |latency: &AtomicU64| latency.load(Ordering::Relaxed) as f64 / 1e3;
    let latencies = latencies.iter().map(microseconds).collect();
    (quantile(latencies, 0.5), cpu / TRICKLE as f64)
}

/// Nanoseconds for a join in a tree of nothing but joins.
fn tree(pool: &ThreadPool) -> f64 {
    fn fib(n: u32) -> u64 {
        if n < 2 {
            return u64::from(n);
        }
        let (a, b) = join(|| fib(n - 1), || fib(n - 2));
        a + b
    }
    let time = time(|| pool.install(|| black_box(fib(TREE))));
    Unit::Nanoseconds.of(time) / JOINS_OF_TREE
}

/// Microseconds for an item that one worker makes and another job uses.
fn producer(pool: &ThreadPool) -> f64 {
    let time = time(|| {
        pool.scope(|scope| {
            for _ in 0..ITEMS {
                spin(ITEM);
                scope.spawn(|_| spin(ITEM));
            }
        });
    });
    Unit::Microseconds.of(time) / ITEMS as f64
}

/// Microseconds of a call of a pool whose workers all sleep.
fn sleep_cycle(pool: &ThreadPool) -> f64 {
    let samples = (0..SLEEP_CYCLES).map(|_| {
        thread::sleep(TRICKLE_INTERVAL);
        Unit::Microseconds.of(time(|| pool.install(|| black_box(1))))
    });
    quantile(samples.collect(), 0.5)
}

/// Microseconds of processor time in which a pool finds out that there is no more to do.
fn idle_cpu(pool: &ThreadPool) -> f64 {
    assert!(!pool.broadcast(|_| ()).is_empty());
    let before = Usage::now();
    thread::sleep(IDLENESS);
    Unit::Microseconds.of(Usage::since(before).cpu)
}
