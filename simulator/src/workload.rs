//! What a pool is given to do.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use pool_core::WorkerThread;

use crate::{
    cost::{MS, US},
    job::{inject, inject_many, post},
    machine,
    platform::Virtual,
    protocol::Protocol,
    simulation::Pool,
};

/// What a workload measures itself. Times are in picoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Probe {
    /// When the last job had ended.
    pub ended_at: Option<u64>,
    /// From the first post until each worker was running a job, if that came.
    pub full_occupancy: Option<u64>,
    /// How many workers ran at least one job.
    pub workers_used: usize,
    /// For each post or region, from the post until a worker ran the job, or until the region had
    /// ended.
    pub latencies: Vec<u64>,
    /// How many shared lines were touched for each job, where jobs come one by one.
    pub lines_touched: Vec<u64>,
}

impl Probe {
    /// Returns a percentile of the latencies.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> Option<u64> {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent / 100).min(sorted.len().checked_sub(1)?);
        Some(sorted[index])
    }

    /// Returns the mean number of lines touched for a job.
    #[must_use]
    pub fn mean_lines(&self) -> Option<f64> {
        let count = self.lines_touched.len();
        (count > 0).then(|| self.lines_touched.iter().sum::<u64>() as f64 / count as f64)
    }
}

/// What a pool is given to do, each time when all its workers sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// As many long jobs as there are workers, spawned from outside one after the other.
    Burst,
    /// The same jobs, queued from outside in one call.
    Batch,
    /// The same jobs, spawned by one job of the pool onto its own deque.
    Spread,
    /// The same jobs, as the leaves of a tree of joins.
    Split,
    /// A job of 20 us each millisecond, while all workers sleep.
    Trickle,
    /// Each millisecond a parallel region of 64 leaves of 4 us, and four calls of 2 us after it.
    Tick,
    /// A tree of joins with leaves of 1 us, 16 for each worker.
    Tree,
    /// Four threads outside that spawn jobs of 10 us, one each 5 us.
    Pipe,
    /// Parallel regions of four leaves of 4 us for each worker, one soon after the other: the
    /// caller computes for 10 us in between.
    Loop,
}

/// How long a job of a burst takes. All workers can be awake by then.
const LONG: u64 = 4 * MS;
const TRICKLE_JOBS: u64 = 100;
const TICKS: u64 = 20;
const TICK_LEAVES: u64 = 64;
const CALLS: u64 = 4;
const PRODUCERS: u64 = 4;
const PIPE_JOBS: u64 = 200;
const TREE_LEAVES: u64 = 16;
const REGIONS: u64 = 50;
const REGION_LEAVES: u64 = 4;

impl Workload {
    /// All workloads, in the order in which they are run.
    pub const ALL: &'static [Self] = &[
        Self::Trickle,
        Self::Tick,
        Self::Pipe,
        Self::Loop,
        Self::Burst,
        Self::Batch,
        Self::Spread,
        Self::Split,
        Self::Tree,
    ];

    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::Batch => "batch",
            Self::Spread => "spread",
            Self::Split => "split",
            Self::Trickle => "trickle",
            Self::Tick => "tick",
            Self::Tree => "tree",
            Self::Pipe => "pipe",
            Self::Loop => "loop",
        }
    }

    /// Returns how many jobs it has on a pool of this size. For trees, these are the leaves.
    #[must_use]
    pub const fn jobs(self, workers: usize) -> u64 {
        match self {
            Self::Burst | Self::Batch | Self::Spread | Self::Split => workers as u64,
            Self::Trickle => TRICKLE_JOBS,
            Self::Tick => TICKS * (TICK_LEAVES + CALLS),
            Self::Tree => TREE_LEAVES * workers as u64,
            Self::Pipe => PRODUCERS * PIPE_JOBS,
            Self::Loop => REGIONS * REGION_LEAVES * workers as u64,
        }
    }

    /// Runs the workload from a thread outside the pool.
    pub(crate) fn run<K: Protocol>(self, pool: &Pool<K>) -> Probe {
        let workers = pool.num_workers();
        match self {
            Self::Burst => occupy(pool, |crowd| {
                for _ in 0..workers {
                    let crowd = crowd.clone();
                    inject(pool, move || crowd.run(LONG));
                }
            }),
            Self::Batch => occupy(pool, |crowd| {
                inject_many(
                    pool,
                    (0..workers).map(|_| {
                        let crowd = crowd.clone();
                        move || crowd.run(LONG)
                    }),
                );
            }),
            Self::Spread => occupy(pool, |crowd| {
                let crowd = crowd.clone();
                let pool = pool.clone();
                inject(&pool, move || {
                    let worker = current::<K>();
                    for _ in 1..worker.registry().num_workers() {
                        let crowd = crowd.clone();
                        post(worker, move || crowd.run(LONG));
                    }
                    crowd.run(LONG);
                });
            }),
            Self::Split => occupy(pool, |crowd| {
                pool.in_worker(|worker, _| tree(worker, workers as u64, &|| crowd.run(LONG)));
            }),
            Self::Trickle => trickle(pool),
            Self::Tick => tick(pool),
            Self::Tree => {
                let crowd = Crowd::new(workers);
                pool.in_worker(|worker, _| {
                    tree(worker, TREE_LEAVES * workers as u64, &|| crowd.run(US));
                });
                crowd.probe(TREE_LEAVES * workers as u64)
            }
            Self::Pipe => pipe(pool),
            Self::Loop => regions(pool),
        }
    }
}

/// Returns the worker that runs this job.
fn current<'a, K: Protocol>() -> &'a WorkerThread<Virtual<K>> {
    // SAFETY: 1. the caller is a job, and drops the reference before its worker leaves.
    unsafe { WorkerThread::current() }.expect("jobs run on workers")
}

/// The jobs of a workload: which workers have run them, and when.
#[derive(Debug)]
struct Crowd {
    begin: u64,
    /// When each worker began its first job; zero if it has not.
    first: Box<[AtomicU64]>,
    ended: AtomicU64,
    ended_at: AtomicU64,
}

impl Crowd {
    fn new(workers: usize) -> Arc<Self> {
        Arc::new(Self {
            begin: machine::now(),
            first: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            ended: AtomicU64::new(0),
            ended_at: AtomicU64::new(0),
        })
    }

    /// Is a job that takes this long.
    fn run(&self, time: u64) {
        let first = &self.first[machine::current()];
        if first.load(Relaxed) == 0 {
            first.store(machine::now(), Relaxed);
        }
        machine::work(time);
        self.ended.fetch_add(1, Relaxed);
        self.ended_at.fetch_max(machine::now(), Relaxed);
    }

    /// Waits until so many jobs have ended. Returns what is known of them.
    fn probe(&self, jobs: u64) -> Probe {
        while self.ended.load(Relaxed) < jobs {
            machine::sleep_until(machine::now() + 20 * US);
        }
        let first: Vec<u64> = self
            .first
            .iter()
            .map(|at| at.load(Relaxed))
            .filter(|&at| at > 0)
            .collect();
        let full = first
            .iter()
            .max()
            .filter(|_| first.len() == self.first.len());
        Probe {
            ended_at: Some(self.ended_at.load(Relaxed)),
            full_occupancy: full.map(|at| at - self.begin),
            workers_used: first.len(),
            ..Probe::default()
        }
    }
}

/// Gives each worker a long job, if the pool spreads them.
fn occupy<K: Protocol>(pool: &Pool<K>, post: impl FnOnce(&Arc<Crowd>)) -> Probe {
    let workers = pool.num_workers();
    let crowd = Crowd::new(workers);
    post(&crowd);
    crowd.probe(workers as u64)
}

/// Calls `leaf` so many times, in a tree of joins.
fn tree<K: Protocol>(worker: &WorkerThread<Virtual<K>>, leaves: u64, leaf: &(impl Fn() + Sync)) {
    if leaves <= 1 {
        leaf();
        return;
    }
    worker.join_context(
        |context| tree(context.worker(), leaves - leaves / 2, leaf),
        |context| tree(context.worker(), leaves / 2, leaf),
        false,
    );
}

fn trickle<K: Protocol>(pool: &Pool<K>) -> Probe {
    const TIME: u64 = 20 * US;
    let crowd = Crowd::new(pool.num_workers());
    let mut probe = Probe::default();
    let started_at = Arc::new(AtomicU64::new(0));
    let mut next = machine::now() + MS;
    for job in 1..=TRICKLE_JOBS {
        machine::sleep_until(next);
        next += MS;
        machine::begin_window();
        let posted = machine::now();
        let (crowd, started_at) = (crowd.clone(), started_at.clone());
        inject(pool, {
            let (crowd, started_at) = (crowd.clone(), started_at.clone());
            move || {
                started_at.store(machine::now(), Relaxed);
                crowd.run(TIME);
            }
        });
        while crowd.ended.load(Relaxed) < job {
            machine::sleep_until(machine::now() + 20 * US);
        }
        probe.latencies.push(started_at.load(Relaxed) - posted);
        // The worker falls asleep again meanwhile.
        machine::sleep_until(next - MS / 100);
        probe.lines_touched.push(machine::begin_window());
    }
    let end = crowd.probe(TRICKLE_JOBS);
    Probe {
        latencies: probe.latencies,
        lines_touched: probe.lines_touched,
        ..end
    }
}

fn tick<K: Protocol>(pool: &Pool<K>) -> Probe {
    let crowd = Crowd::new(pool.num_workers());
    let mut latencies = Vec::new();
    let mut next = machine::now();
    for _ in 0..TICKS {
        next += MS;
        machine::sleep_until(next);
        let begin = machine::now();
        pool.in_worker(|worker, _| tree(worker, TICK_LEAVES, &|| crowd.run(4 * US)));
        latencies.push(machine::now() - begin);
        for _ in 0..CALLS {
            machine::sleep_until(machine::now() + 100 * US);
            pool.in_worker(|_, _| crowd.run(2 * US));
        }
    }
    Probe {
        latencies,
        ..crowd.probe(TICKS * (TICK_LEAVES + CALLS))
    }
}

/// Without the pauses, as the latencies.
fn regions<K: Protocol>(pool: &Pool<K>) -> Probe {
    let leaves = REGION_LEAVES * pool.num_workers() as u64;
    let crowd = Crowd::new(pool.num_workers());
    let mut latencies = Vec::new();
    for _ in 0..REGIONS {
        let begin = machine::now();
        pool.in_worker(|worker, _| tree(worker, leaves, &|| crowd.run(4 * US)));
        latencies.push(machine::now() - begin);
        machine::work(10 * US);
    }
    Probe {
        latencies,
        ..crowd.probe(REGIONS * leaves)
    }
}

/// The producers are one thread here, which posts as often as four would: each 1.25 us.
fn pipe<K: Protocol>(pool: &Pool<K>) -> Probe {
    let crowd = Crowd::new(pool.num_workers());
    let latencies = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut next = machine::now();
    for _ in 0..PRODUCERS * PIPE_JOBS {
        next += 5 * US / PRODUCERS;
        machine::sleep_until(next);
        let posted = machine::now();
        let (crowd, latencies) = (crowd.clone(), latencies.clone());
        inject(pool, move || {
            latencies
                .lock()
                .expect("no panic")
                .push(machine::now() - posted);
            crowd.run(10 * US);
        });
    }
    let probe = crowd.probe(PRODUCERS * PIPE_JOBS);
    let latencies = std::mem::take(&mut *latencies.lock().expect("no panic"));
    Probe { latencies, ..probe }
}
