//! The group `sparse`: what a pool costs that has little to do, or nothing.

mod load;
pub(crate) mod usage;

use std::{cell::RefCell, rc::Rc, thread, time::Duration};

use protocol::{Case, Unit};

use crate::{
    pools::{Lazy, Pools},
    spawning::{Spawning, on_both},
};
use load::{Cost, Load, Target};
use usage::Usage;
#[cfg(target_os = "linux")]
use {crate::futex::OneThread, crate::pools::Pool as _};

/// With few workers and with many, whatever the processors.
const THREADS: [usize; 2] = [2, 8];
const IDLENESS: Duration = Duration::from_secs(2);

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in THREADS {
        let pools = Pools::new(threads);
        let ours = load_cases(&pools.ours);
        let rayon = load_cases(&pools.rayon);
        cases.extend(ours.into_iter().chain(rayon));
        // What the load costs at least: a thread that is woken for each job, and sleeps after it.
        #[cfg(target_os = "linux")]
        cases.extend(load_cases(&Lazy::built_by(threads, OneThread::new)));
    }
    let pools = [Pools::new(8)];
    let unit = Unit::Milliseconds;
    cases.extend(on_both(
        "sparse", "idle-cpu", unit, &pools, idle_cpu, idle_cpu,
    ));
    let cases = cases.into_iter().map(|case| case.repetitions(3));
    if cfg!(unix) {
        cases.collect()
    } else {
        cases.map(|case| case.missing("no getrusage")).collect()
    }
}

/// A case for each cost of the load.
fn load_cases<P: Target>(pool: &Rc<Lazy<P>>) -> [Case; 4] {
    let load = Rc::new(RefCell::new(Load::new(pool.clone())));
    let case = |name, unit, cost| {
        let load = load.clone();
        let run = move || load.borrow_mut().cost(cost);
        Case::new("sparse", name, pool.threads(), P::SYSTEM, unit, run)
    };
    [
        case("sparse-cpu", Unit::Seconds, Cost::Cpu),
        case("sparse-p50", Unit::Microseconds, Cost::MedianLatency),
        case("sparse-p99", Unit::Microseconds, Cost::HighLatency),
        // For each job, those of the thread that spawns included.
        case("sparse-switches", Unit::Count, Cost::Switches).less_is_better(),
    ]
}

/// Milliseconds of processor time in which a pool finds out that there is no more to do.
fn idle_cpu<P: Spawning>(pool: &P) -> f64 {
    assert!(pool.broadcast(|| ()) > 0);
    let before = Usage::now();
    thread::sleep(IDLENESS);
    Unit::Milliseconds.of(Usage::since(before).cpu)
}
