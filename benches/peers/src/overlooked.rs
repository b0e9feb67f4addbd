//! The group `overlooked`: how often the second half of a join stays in its queue while all other
//! workers sleep.
//!
//! A worker that queues a job and a worker that falls asleep may miss each other. Then the job is
//! not stolen, however long the first half takes. The first halves here wait until the second half
//! has begun on another worker, or until the system says that every other worker sleeps.

#[cfg(target_os = "linux")]
mod interruptions;
#[cfg(target_os = "linux")]
mod joins;
#[cfg(target_os = "linux")]
mod sleepers;

use std::rc::Rc;

use pool_std::{IdlePolicy, Relax, ThreadPool, ThreadPoolBuilder};
use protocol::{Case, Unit};

use crate::{
    fork_join::ForkJoin,
    pools::{Lazy, Pool, Pools},
    spawning::Spawning,
};

/// Two rounds of five spins: a worker falls asleep within a microsecond.
const BRIEF: IdlePolicy = IdlePolicy::new(2, 2, Relax::Spin(5));

pub(crate) fn cases(pools: &[Pools]) -> Vec<Case> {
    // It takes two.
    let several = pools.iter().filter(|pools| pools.threads() > 1);
    several.flat_map(on_all).collect()
}

fn on_all(pools: &Pools) -> Vec<Case> {
    let threads = pools.threads();
    let immediate = Lazy::built_by(threads, |threads| {
        with_policy(threads, IdlePolicy::IMMEDIATE)
    });
    let brief = Lazy::built_by(threads, |threads| with_policy(threads, BRIEF));
    let none = Lazy::built_by(threads, |threads| {
        overlooking_none(threads, IdlePolicy::DEFAULT)
    });
    let brief_none = Lazy::built_by(threads, |threads| overlooking_none(threads, BRIEF));
    let cases = [
        on_one(&pools.ours, ThreadPool::SYSTEM),
        on_one(&none, "ours-overlook-none"),
        on_one(&brief_none, "ours-brief-overlook-none"),
        on_one(&immediate, "ours-immediate"),
        on_one(&brief, "ours-brief"),
        on_one(&pools.rayon, rayon_core::ThreadPool::SYSTEM),
    ];
    cases.into_iter().flatten().collect()
}

fn with_policy(threads: usize, policy: IdlePolicy) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    builder.idle_policy(policy).build().expect("a small pool")
}

/// With a process fence before each sleep.
fn overlooking_none(threads: usize, policy: IdlePolicy) -> ThreadPool {
    let builder = ThreadPoolBuilder::new().num_threads(threads);
    let builder = builder.idle_policy(policy).overlook_no_jobs(true);
    builder.build().expect("a small pool")
}

#[cfg(target_os = "linux")]
fn on_one<P: ForkJoin + Spawning>(pool: &Rc<Lazy<P>>, system: &str) -> [Case; 2] {
    let case = |name, measure: fn(&P) -> f64| {
        let (threads, pool) = (pool.threads(), pool.clone());
        let run = move || measure(pool.get());
        let case = Case::new("overlooked", name, threads, system, Unit::Count, run);
        case.less_is_better().rare().repetitions(9)
    };
    [
        case("per-1000-interruptions", joins::overlooked_when_interrupted),
        case("per-million-joins", joins::overlooked_undisturbed),
    ]
}

#[cfg(not(target_os = "linux"))]
fn on_one<P: ForkJoin + Spawning>(pool: &Rc<Lazy<P>>, system: &str) -> [Case; 2] {
    ["per-1000-interruptions", "per-million-joins"].map(|name| {
        let run = || unreachable!("nothing asks for what is missing");
        let case = Case::new("overlooked", name, pool.threads(), system, Unit::Count, run);
        case.less_is_better().missing("no /proc")
    })
}
