//! What a pool is asked to do, and what that costs.

use std::{
    hint::black_box,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use protocol::Unit;

use super::{
    Crowded,
    matrix::{Product, Token},
};
use crate::{
    computation::spin,
    fork_join::{ForkJoin, region},
    pools::{Lazy, Pool},
    sparse::usage::Usage,
    spawning::Spawning,
};

/// How long a run lasts at least.
const RUN: Duration = Duration::from_millis(60);
/// In which rounds end.
const PAUSE: Duration = Duration::from_micros(50);
/// In which the workers go to sleep.
const NAP: Duration = Duration::from_millis(3);

/// One operation of a load, which the program waits for before it begins the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A job on each worker.
    Broadcast,
    /// 32 spawned jobs.
    Spawns,
    /// A Fibonacci number by joins, none of which is left out.
    Joins,
    /// A scope with 64 jobs.
    Scope,
    /// A new pool, of three workers, which does one job on each of them.
    NewPool,
    /// A sum of a thousand numbers, which takes less time than to wake a worker.
    SmallSum,
    /// The same now and then: all workers sleep when it begins.
    RareSmallSum,
    /// A sum of a hundred thousand numbers.
    Sum,
    /// A parallel region, after which the caller computes for as long as the region takes.
    Region,
    /// Products of small matrices and vectors, one after the other, as a language model's token
    /// needs them.
    Token,
    /// A product of two large matrices.
    Product,
}

impl Work {
    pub(super) const ALL: [Self; 11] = [
        Self::Broadcast,
        Self::Spawns,
        Self::Joins,
        Self::Scope,
        Self::NewPool,
        Self::SmallSum,
        Self::RareSmallSum,
        Self::Sum,
        Self::Region,
        Self::Token,
        Self::Product,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Spawns => "spawn-32",
            Self::Joins => "fib18",
            Self::Scope => "scope-64",
            Self::NewPool => "new-pool-of-3",
            Self::SmallSum => "sum-1k",
            Self::RareSmallSum => "rare-sum-1k",
            Self::Sum => "sum-100k",
            Self::Region => "region-pause",
            Self::Token => "token",
            Self::Product => "product-512",
        }
    }

    /// Whether the caller can run it in the place of a worker.
    pub(super) fn is_a_call(self) -> bool {
        matches!(
            self,
            Self::Joins
                | Self::SmallSum
                | Self::RareSmallSum
                | Self::Sum
                | Self::Region
                | Self::Token
                | Self::Product
        )
    }
}

/// One of the things that an operation costs.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// Microseconds.
    Time,
    /// Microseconds of processor time.
    Cpu,
    /// How often a worker was woken and found nothing.
    FruitlessWakes,
}

/// One kind of work on one pool.
pub(super) struct Load<P> {
    pool: Rc<Lazy<P>>,
    work: Work,
    /// The costs of the last run that were not yet asked for.
    costs: [Option<f64>; 3],
}

impl<P: Crowded> Load<P> {
    pub(super) fn new(pool: Rc<Lazy<P>>, work: Work) -> Self {
        Self {
            pool,
            work,
            costs: [None; 3],
        }
    }

    /// Takes one of the costs of the last run. If it has been taken, that of a new run.
    pub(super) fn cost(&mut self, cost: Cost) -> f64 {
        let known = self.costs[cost as usize].take();
        known.unwrap_or_else(|| {
            self.costs = run(self.pool.get(), self.work).map(Some);
            self.costs[cost as usize].take().expect("set just now")
        })
    }
}

/// Runs the load; returns the costs in the order of [`Cost`].
fn run<P: Crowded>(pool: &P, work: Work) -> [f64; 3] {
    match work {
        Work::Broadcast => measure(pool, || {
            pool.inner().broadcast(|| ());
        }),
        Work::Spawns => measure(pool, || spawn_and_wait(pool.inner(), 32)),
        Work::Joins => measure(pool, || {
            assert_eq!(pool.run(|context| fib::<P>(context, 18)), 2584);
        }),
        Work::Scope => {
            let done = AtomicUsize::new(0);
            measure(pool, || pool.inner().spawn_in_scope(64, &done))
        }
        Work::NewPool => measure(pool, || {
            let new = <P::Inner as Pool>::new(3);
            assert_eq!(new.broadcast(|| ()), 3);
        }),
        Work::SmallSum => sums(pool, 1_000, Duration::ZERO),
        Work::RareSmallSum => sums(pool, 1_000, 4 * PAUSE),
        Work::Sum => sums(pool, 100_000, Duration::ZERO),
        Work::Region => {
            const JOBS: usize = 16;
            const JOB: Duration = Duration::from_micros(2);
            measure(pool, || {
                pool.run(|context| region::<P>(context, JOBS, JOB));
                spin(JOB * JOBS as u32);
            })
        }
        Work::Token => {
            let mut token = Token::new();
            measure(pool, || {
                black_box(token.next(pool));
            })
        }
        Work::Product => {
            let mut product = Product::new();
            measure(pool, || {
                black_box(product.compute(pool));
            })
        }
    }
}

/// Repeats an operation until the time is over, once all workers have slept.
fn measure<P: Crowded>(pool: &P, mut operation: impl FnMut()) -> [f64; 3] {
    pool.start();
    // What is done only once: memory, threads, caches.
    operation();
    thread::sleep(NAP);
    let (usage, wakes) = (Usage::now(), pool.fruitless_wakes());
    let start = Instant::now();
    let mut operations = 0;
    while start.elapsed() < RUN {
        operation();
        operations += 1;
    }
    let time = start.elapsed();
    // The last workers fall asleep: what they search for in vain is a cost too.
    thread::sleep(NAP);
    let usage = Usage::since(usage);
    let operations = f64::from(operations);
    [
        Unit::Microseconds.of(time) / operations,
        Unit::Microseconds.of(usage.cpu) / operations,
        (pool.fruitless_wakes() - wakes) as f64 / operations,
    ]
}

/// Spawns jobs from outside, and blocks until the last one has ended.
fn spawn_and_wait<P: Spawning>(pool: &P, jobs: usize) {
    let left = Arc::new(AtomicUsize::new(jobs));
    for _ in 0..jobs {
        let (left, waiter) = (left.clone(), thread::current());
        pool.spawn(move || {
            if left.fetch_sub(1, Ordering::Release) == 1 {
                waiter.unpark();
            }
        });
    }
    while left.load(Ordering::Acquire) > 0 {
        thread::park();
    }
}

/// Computes the same sum again and again, in eight parts, with pauses in which the caller computes.
/// Without these pauses.
fn sums<P: Crowded>(pool: &P, count: usize, pause: Duration) -> [f64; 3] {
    let numbers: Vec<u64> = (0..count as u64).collect();
    let [time, cpu, wakes] = measure(pool, || {
        let sum = pool.run(|context| sum::<P>(context, &numbers, count / 8));
        assert_eq!(sum, (count * (count - 1) / 2) as u64);
        spin(pause);
    });
    let pause = Unit::Microseconds.of(pause);
    [time - pause, cpu - pause, wakes]
}

fn sum<P: ForkJoin>(context: &mut P::Context<'_>, numbers: &[u64], part: usize) -> u64 {
    if numbers.len() <= part {
        return black_box(numbers).iter().sum();
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = P::join(
        context,
        |context| sum::<P>(context, left, part),
        |context| sum::<P>(context, right, part),
    );
    left + right
}

fn fib<P: ForkJoin>(context: &mut P::Context<'_>, n: u32) -> u32 {
    if n < 2 {
        return n;
    }
    let (left, right) = P::join(
        context,
        |context| fib::<P>(context, n - 1),
        |context| fib::<P>(context, n - 2),
    );
    left + right
}
