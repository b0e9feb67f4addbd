//! A control loop: regions, pauses between them, and a longer pause until the next tick.

use std::{
    hint::black_box,
    rc::Rc,
    thread,
    time::{Duration, Instant},
};

use protocol::{Unit, quantile};

use crate::{
    computation::spin,
    counting::Counting,
    fork_join::{ForkJoin, region},
    pools::Lazy,
    sparse::usage::Usage,
};

const TICKS: usize = 200;
const PERIOD: Duration = Duration::from_millis(5);
const REGIONS: usize = 8;
/// The jobs of a region, and how long each of them takes.
const JOBS: usize = 16;
const JOB: Duration = Duration::from_micros(1);
/// Between two regions.
const STRETCH: Duration = Duration::from_micros(150);

/// Which thread runs what is between two regions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A thread outside the pool, which blocks there. Each region is a call of the pool, and after
    /// each region there is a call that does next to nothing.
    Regions,
    /// A worker of the pool, which computes there. The whole tick is one call of the pool.
    OneInstall,
}

impl Shape {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Regions => "regions",
            Self::OneInstall => "one-install",
        }
    }
}

/// One of the things that a tick costs.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// Microseconds of processor time.
    Cpu,
    /// Microseconds from the beginning of a tick to its end, the pauses within included.
    MedianTime,
    /// Of a hundred ticks, the second slowest.
    HighTime,
    /// How often a worker looked at all sources of work in vain.
    FruitlessSearches,
}

/// The load on one pool.
pub(super) struct Load<P> {
    pool: Rc<Lazy<P>>,
    shape: Shape,
    /// The costs of the last run that were not yet asked for.
    costs: [Option<f64>; 4],
}

impl<P: ForkJoin + Counting> Load<P> {
    pub(super) fn new(pool: Rc<Lazy<P>>, shape: Shape) -> Self {
        Self {
            pool,
            shape,
            costs: [None; 4],
        }
    }

    /// Takes one of the costs of the last run. If it has been taken, that of a new run.
    pub(super) fn cost(&mut self, cost: Cost) -> f64 {
        let known = self.costs[cost as usize].take();
        known.unwrap_or_else(|| {
            self.costs = run(self.pool.get(), self.shape).map(Some);
            self.costs[cost as usize].take().expect("set just now")
        })
    }
}

/// Runs the load; returns the costs in the order of [`Cost`].
fn run<P: ForkJoin + Counting>(pool: &P, shape: Shape) -> [f64; 4] {
    pool.start();
    // The threads fall asleep.
    thread::sleep(PERIOD);

    let (before, searches_before) = (Usage::now(), pool.fruitless_searches());
    let mut times = Vec::with_capacity(TICKS);
    let mut next = Instant::now();
    for _ in 0..TICKS {
        next += PERIOD;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let start = Instant::now();
        match shape {
            Shape::Regions => tick_of_regions(pool),
            Shape::OneInstall => tick_of_one_install(pool),
        }
        times.push(Unit::Microseconds.of(start.elapsed()));
    }
    let usage = Usage::since(before);
    // An installed call was a search that found it. Calls of regions are no searches, unless all
    // workers were awake.
    let calls = match shape {
        Shape::Regions => 0,
        Shape::OneInstall => TICKS,
    };
    let searches = pool.fruitless_searches() - searches_before;
    [
        Unit::Microseconds.of(usage.cpu) / TICKS as f64,
        quantile(times.clone(), 0.5),
        quantile(times, 0.99),
        searches.saturating_sub(calls as u64) as f64 / TICKS as f64,
    ]
}

fn tick_of_regions<P: ForkJoin>(pool: &P) {
    for _ in 0..REGIONS {
        pool.call(|context| region::<P>(context, JOBS, JOB));
        thread::sleep(STRETCH);
        assert_eq!(pool.call(|_| black_box(1)), 1);
    }
}

fn tick_of_one_install<P: ForkJoin>(pool: &P) {
    pool.run(|context| {
        for _ in 0..REGIONS {
            region::<P>(context, JOBS, JOB);
            spin(STRETCH);
        }
    });
}
