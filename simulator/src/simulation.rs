//! One simulation: a pool on a virtual machine, a thread outside that gives it work, and what was
//! measured.

use std::{cell::RefCell, fmt, rc::Rc, sync::Arc};

use deque_core::{Deque, Order};
use pool_core::{
    Counts, IdlePolicy, Injectors, NoDeadlockDetection, Registry, TooManyWorkers, WorkerMetrics,
    WorkerShared, WorkerState, WorkerThread,
    progress::{Participant, Progress},
};

use crate::{
    cost::{MS, NS, US},
    machine::{self, Finished, Part, Region, RunError, Settings, Site, Traffic},
    observer::VirtualObserver,
    platform::{Queue, Virtual, VirtualFence, VirtualParker, forget_waiters},
    protocol::Protocol,
    workload::{Probe, Workload},
};

/// A pool on a virtual machine.
pub type Pool<K> = Arc<Registry<Virtual<K>>>;

/// Why a simulation was not made, or came to no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SimulationError {
    /// A pool has at least one worker.
    NoWorker,
    /// There are more workers than a simulation can have.
    TooManyWorkers {
        /// How many were asked for.
        requested: usize,
        /// How many there can be.
        maximum: usize,
    },
    /// The run came to no end.
    Run(RunError),
}

impl fmt::Display for SimulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoWorker => f.write_str("a pool has at least one worker"),
            Self::TooManyWorkers { requested, maximum } => {
                write!(
                    f,
                    "{requested} workers, but a simulation can have {maximum} at most"
                )
            }
            Self::Run(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SimulationError {}

impl From<RunError> for SimulationError {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<TooManyWorkers> for SimulationError {
    fn from(error: TooManyWorkers) -> Self {
        Self::TooManyWorkers {
            requested: error.requested,
            maximum: error.maximum,
        }
    }
}

/// The most workers that a simulation can have: 64 nodes of 64 cores.
pub const MAX_WORKERS: usize = 4_096;

/// The sums of what all workers have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sums {
    counts: Counts,
    fruitless_searches: u64,
    active_ns: u64,
    idle_ns: u64,
    unparks: u64,
    process_fences: u64,
}

/// What one workload has cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The name of the workload.
    pub workload: &'static str,
    /// How many jobs the workload had.
    pub jobs: u64,
    /// From the first post until the last job has ended, in picoseconds.
    pub span: u64,
    /// What the workload itself has measured.
    pub probe: Probe,
    /// What the workers have counted, from the first post until all of them sleep again.
    pub counts: Counts,
    /// Searches that found nothing.
    pub fruitless_searches: u64,
    /// How long workers ran jobs, together, in nanoseconds.
    pub active_ns: u64,
    /// How long workers searched, together, in nanoseconds.
    pub idle_ns: u64,
    /// How often a parked thread was woken.
    pub unparks: u64,
    /// How often a process fence was called for.
    pub process_fences: u64,
    /// The shared lines with the most traffic.
    pub lines: Vec<(String, Traffic, Option<Site>)>,
    /// The lines of the source with the most traffic.
    pub sites: Vec<(Site, Traffic)>,
    /// All traffic together.
    pub traffic: Traffic,
}

impl Outcome {
    /// Returns a number of events for each job.
    #[must_use]
    pub fn per_job(&self, events: u64) -> f64 {
        events as f64 / self.jobs.max(1) as f64
    }
}

/// How many of the lines with the most traffic are kept.
const HOT: usize = 12;

/// What a simulation has given.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// One for each workload, in their order.
    pub outcomes: Vec<Outcome>,
    /// The end of the run.
    pub finished: Finished,
}

/// Creates a pool without threads.
///
/// # Errors
/// [`SimulationError`] for a number of workers that cannot be.
pub fn pool<K: Protocol>(workers: usize, policy: IdlePolicy) -> Result<Pool<K>, SimulationError> {
    if workers == 0 {
        return Err(SimulationError::NoWorker);
    }
    if workers > MAX_WORKERS {
        return Err(SimulationError::TooManyWorkers {
            requested: workers,
            maximum: MAX_WORKERS,
        });
    }
    let sleep = K::create(workers, policy)?;
    let deque = || Deque::growable(Order::Lifo).with_process_fence::<VirtualFence>();
    let shared = (0..workers)
        .map(|_| {
            // SAFETY: 1. the deque is new.
            unsafe {
                WorkerShared::new(deque(), Queue::new(), Queue::new(), VirtualObserver::new())
            }
        })
        .collect();
    let participants = (0..workers).map(|worker| Participant::new(VirtualParker::new(worker)));
    let progress = Progress::new(participants.collect());
    Ok(Arc::new(Registry::new(
        sleep,
        shared,
        progress,
        Injectors::new(Queue::new(), Queue::new(), Queue::new()),
        NoDeadlockDetection,
        (),
    )))
}

/// Returns the memory of a pool, with names.
fn regions<K: Protocol>(pool: &Pool<K>) -> Vec<Region> {
    let mut regions = vec![Region::of_slice(Part::Workers, pool.workers())];
    regions.extend(pool.sleep().regions());
    regions.push(Region::of_slice(
        Part::Participants,
        pool.progress().participants(),
    ));
    regions.push(Region::of(Part::Injector, pool.injectors()));
    regions.push(Region::of(Part::Progress, pool.progress()));
    regions.push(Region::of(Part::Registry, &**pool));
    regions
}

/// Runs workloads one after the other on a pool of virtual workers, each when all workers sleep.
///
/// # Errors
/// [`SimulationError`] for a number of workers that cannot be, or a run that comes to no end.
pub fn simulate<K: Protocol>(
    settings: Settings,
    workers: usize,
    policy: IdlePolicy,
    workloads: &[Workload],
) -> Result<Report, SimulationError> {
    forget_waiters();
    let policy = match settings.processors {
        usize::MAX => policy,
        processors => policy.for_processors(workers, processors),
    };
    let pool = pool::<K>(workers, policy)?;
    let outcomes = Rc::new(RefCell::new(Vec::new()));
    let driver = {
        let (pool, outcomes, workloads) = (pool.clone(), outcomes.clone(), workloads.to_vec());
        move || {
            for workload in workloads {
                let outcome = measure(&pool, workload);
                outcomes.borrow_mut().push(outcome);
            }
            pool.remove_reference();
        }
    };
    let bodies = (0..workers)
        .map(|index| worker_body(pool.clone(), index))
        .collect();
    let looked_at = pool.clone();
    let finished = machine::run(
        settings,
        regions(&pool),
        bodies,
        vec![Box::new(driver)],
        || {
            // What any worker may run; no workload has jobs for one worker alone.
            looked_at.may_run(looked_at.worker(0).expect("counted"))
        },
    )?;
    #[cfg(test)]
    tests::check_transitions(&looked_at);
    let outcomes = outcomes.take();
    Ok(Report { outcomes, finished })
}

/// Returns what the thread of a worker does.
pub(crate) fn worker_body<K: Protocol>(pool: Pool<K>, index: usize) -> machine::Body {
    Box::new(move || {
        let index = pool.worker(index).expect("counted");
        // SAFETY: 1. this closure holds the registry; 2. it is the `Arc`'s pointer.
        let worker = unsafe { WorkerThread::new(Arc::as_ptr(&pool), index) }.expect("the only one");
        // SAFETY: 1. it stays until it leaves.
        unsafe { worker.enter() };
        // SAFETY: 1. the pools have no guests.
        unsafe { worker.run_until_terminated() };
        worker.leave();
    })
}

/// Waits until all workers sleep. When the protocol has counted all of them, most are still at
/// their last look: in a large pool that takes longer than the time until the first job.
fn settle<K: Protocol>(pool: &Pool<K>) {
    let asleep = || {
        let workers = |worker: &dyn Fn(usize) -> WorkerMetrics| {
            (0..pool.num_workers()).map(worker).collect::<Vec<_>>()
        };
        machine::free_of_charge(|| pool.metrics(workers).num_in(WorkerState::Asleep))
    };
    while asleep() < pool.num_workers() {
        machine::sleep_until(machine::now() + 20 * US);
    }
    // The last one has looked, and parks.
    machine::sleep_until(machine::now() + MS / 10);
}

fn sums<K: Protocol>(pool: &Pool<K>) -> Sums {
    machine::free_of_charge(|| {
        let metrics =
            pool.metrics(|worker| (0..pool.num_workers()).map(worker).collect::<Vec<_>>());
        let times = metrics.sum_of_times().unwrap_or_default();
        let events = machine::events();
        let observers = pool
            .workers()
            .iter()
            .map(|worker| worker.observer().fruitless_searches());
        Sums {
            counts: metrics.sum(),
            fruitless_searches: observers.sum(),
            active_ns: times.active.as_nanos() as u64,
            idle_ns: times.idle.as_nanos() as u64,
            unparks: events.unparks,
            process_fences: events.process_fences,
        }
    })
}

fn measure<K: Protocol>(pool: &Pool<K>, workload: Workload) -> Outcome {
    settle(pool);
    let before = sums(pool);
    machine::reset_traffic();
    let begin = machine::now();
    let probe = workload.run(pool);
    let span = probe.ended_at.unwrap_or_else(machine::now) - begin;
    settle(pool);
    let after = sums(pool);
    let mut lines = machine::shared_lines();
    let mut traffic = Traffic::default();
    for (_, line, _) in &lines {
        traffic.transfers += line.transfers;
        traffic.exclusive += line.exclusive;
        traffic.waited += line.waited;
    }
    lines.sort_by(|(one_name, one, _), (other_name, other, _)| {
        (other.waited, other.transfers, one_name).cmp(&(one.waited, one.transfers, other_name))
    });
    lines.truncate(HOT);
    let mut sites = machine::sites();
    sites.sort_by_key(|(site, traffic)| {
        (
            std::cmp::Reverse(traffic.transfers.max(traffic.touched)),
            site.file(),
            site.line(),
            site.column(),
        )
    });
    sites.truncate(HOT);
    Outcome {
        workload: workload.name(),
        jobs: workload.jobs(pool.num_workers()),
        span,
        probe,
        counts: after.counts - before.counts,
        fruitless_searches: after.fruitless_searches - before.fruitless_searches,
        active_ns: after.active_ns - before.active_ns,
        idle_ns: after.idle_ns - before.idle_ns,
        unparks: after.unparks - before.unparks,
        process_fences: after.process_fences - before.process_fences,
        lines,
        sites,
        traffic,
    }
}

/// Returns a time as a number of microseconds.
#[must_use]
pub fn microseconds(time: u64) -> f64 {
    time as f64 / (1_000 * NS) as f64
}

#[cfg(test)]
mod tests;
