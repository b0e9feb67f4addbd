//! A load of short jobs with long pauses.

use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use protocol::quantile;

use super::usage::Usage;
use crate::{
    computation::spin,
    latch::Latch,
    pools::{Lazy, Pool},
    spawning::Spawning,
};

const JOBS: usize = 3000;
const INTERVAL: Duration = Duration::from_millis(1);
const JOB: Duration = Duration::from_micros(20);

/// One of the things that a load costs.
#[derive(Clone, Copy)]
pub(super) enum Cost {
    /// Seconds of processor time.
    Cpu,
    /// Microseconds from a spawn to the beginning of the job.
    MedianLatency,
    /// Of a hundred jobs, the second slowest.
    HighLatency,
    /// How often a thread went to sleep, for each job.
    Switches,
}

/// What the load is put on.
pub(super) trait Target: Pool {
    fn spawn(&self, job: impl FnOnce() + Send + 'static);

    /// Starts all threads, if they are not started yet.
    fn start(&self);
}

impl<P: Spawning> Target for P {
    fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        Spawning::spawn(self, job);
    }

    fn start(&self) {
        self.broadcast(|| ());
    }
}

#[cfg(target_os = "linux")]
impl Target for crate::futex::OneThread {
    fn spawn(&self, job: impl FnOnce() + Send + 'static) {
        self.spawn(job);
    }

    fn start(&self) {}
}

/// The load on one pool.
pub(super) struct Load<P> {
    pool: Rc<Lazy<P>>,
    /// The costs of the last run that were not yet asked for.
    costs: [Option<f64>; 4],
}

impl<P: Target> Load<P> {
    pub(super) fn new(pool: Rc<Lazy<P>>) -> Self {
        Self {
            pool,
            costs: [None; 4],
        }
    }

    /// Takes one of the costs of the last run. If it has been taken, that of a new run.
    pub(super) fn cost(&mut self, cost: Cost) -> f64 {
        let known = self.costs[cost as usize].take();
        known.unwrap_or_else(|| {
            self.costs = run(self.pool.get()).map(Some);
            self.costs[cost as usize].take().expect("set just now")
        })
    }
}

/// Runs the load; returns the costs in the order of [`Cost`].
fn run<P: Target>(pool: &P) -> [f64; 4] {
    static LATCH: Latch = Latch::new();
    let latencies: Arc<[_]> = (0..JOBS).map(|_| AtomicU64::new(0)).collect();
    LATCH.expect(JOBS);
    // The threads have been started, and sleep.
    pool.start();
    thread::sleep(INTERVAL);

    let before = Usage::now();
    let mut next = Instant::now();
    for job in 0..JOBS {
        next += INTERVAL;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let latencies = latencies.clone();
        let spawned = Instant::now();
        pool.spawn(move || {
            let nanoseconds = spawned.elapsed().as_nanos() as u64;
            latencies[job].store(nanoseconds, Ordering::Relaxed);
            spin(JOB);
            LATCH.count_down();
        });
    }
    LATCH.wait();
    let usage = Usage::since(before);

    let microseconds = |latency: &AtomicU64| latency.load(Ordering::Relaxed) as f64 / 1e3;
    let latencies: Vec<_> = latencies.iter().map(microseconds).collect();
    [
        usage.cpu.as_secs_f64(),
        quantile(latencies.clone(), 0.5),
        quantile(latencies, 0.99),
        usage.switches as f64 / JOBS as f64,
    ]
}
