//! The programs that the check of a protocol runs.

use std::{format, string::String, sync::Arc, vec::Vec};

use super::{
    super::{
        ScheduledParker,
        schedule::{Bounds, Script, explore},
    },
    Jobs, Pool, SHARED, WORKERS,
};
use crate::{SleepProtocol, protocol::full_fence};

/// One program whose schedules are explored.
pub(super) struct Scenario<S> {
    title: &'static str,
    workers: usize,
    preemptions: usize,
    spurious: usize,
    jobs: Jobs,
    /// What the thread outside does, before it stops the workers.
    outside: fn(&Pool<S>),
    /// Whether a guest comes too.
    guest: bool,
}

impl<S: SleepProtocol<Parker = ScheduledParker> + Send + Sync + 'static> Scenario<S> {
    const fn new(title: &'static str, workers: usize, outside: fn(&Pool<S>)) -> Self {
        Self {
            title,
            workers,
            preemptions: 1,
            spurious: 0,
            jobs: Jobs::Short,
            outside,
            guest: false,
        }
    }

    pub(super) fn run(&self, make: &impl Fn(usize) -> S) {
        let mut actors: Vec<(_, Script<Pool<S>>)> = Vec::new();
        for (index, name) in WORKERS.into_iter().enumerate().take(self.workers) {
            actors.push((name, Arc::new(move |pool| pool.work(index))));
        }
        let outside = self.outside;
        let script = move |pool: &Pool<S>| {
            outside(pool);
            pool.stop();
        };
        actors.push(("the thread outside", Arc::new(script)));
        if self.guest {
            actors.push(("the guest", Arc::new(Pool::visit)));
        }
        let bounds = Bounds {
            preemptions: self.preemptions,
            spurious: self.spurious,
        };
        let make = || Pool::new(make(self.workers), self.jobs);
        explore(self.title, bounds, &make, &actors, &counts_are_zero);
    }
}

fn counts_are_zero<S: SleepProtocol>(pool: &Pool<S>) -> Result<(), String> {
    match (pool.sleep.num_inactive(), pool.sleep.num_sleeping()) {
        (0, 0) => Ok(()),
        (inactive, sleeping) => Err(format!(
            "miscounted: all workers have ended, but the protocol counts {inactive} inactive and {sleeping} sleeping"
        )),
    }
}

/// Returns all of them, the smallest first.
pub(super) fn scenarios<S>() -> Vec<Scenario<S>>
where
    S: SleepProtocol<Parker = ScheduledParker> + Send + Sync + 'static,
{
    let one = |title, outside| Scenario {
        preemptions: 2,
        ..Scenario::new(title, 1, outside)
    };
    let two = |title, outside| Scenario::new(title, 2, outside);
    std::vec![
        one("a stop", |_| ()),
        one("a job from outside", |pool| {
            pool.inject(1);
            pool.wait_for(1);
        }),
        Scenario {
            spurious: 1,
            ..one(
                "a job from outside, and a park that returns early",
                |pool| {
                    pool.inject(1);
                    pool.wait_for(1);
                }
            )
        },
        one("two jobs from outside, one after the other", |pool| {
            for job in [1, 2] {
                pool.inject(1);
                pool.wait_for(job);
            }
        }),
        one(
            "a job that is announced as internal, after a fence",
            |pool| {
                let was_empty = pool.push(SHARED);
                full_fence();
                if !pool.sleep.all_are_awake() {
                    pool.sleep.new_internal_jobs(1, || was_empty);
                }
                pool.wait_for(1);
            }
        ),
        one("a job for a pool at rest", |pool| {
            pool.rest();
            pool.inject(1);
            pool.wait_for(1);
            pool.rest();
        }),
        Scenario {
            guest: true,
            ..one("a job and a guest", |pool| {
                pool.inject(1);
                pool.wait_for(2);
            })
        },
        two("a stop of two workers", |_| ()),
        two("a job for the second worker", |pool| {
            pool.push(2);
            pool.sleep.new_job_for(pool.worker(1));
            pool.wait_for(1);
        }),
        two("a job for each worker", |pool| {
            pool.push(1);
            pool.push(2);
            pool.sleep
                .new_jobs_for([0, 1].map(|index| pool.worker(index)).into_iter());
            pool.wait_for(2);
        }),
        Scenario {
            jobs: Jobs::NeedEachOther,
            ..two("two jobs at once that need two workers", |pool| {
                pool.inject(2);
                pool.wait_for(2);
            })
        },
        Scenario {
            jobs: Jobs::NeedEachOther,
            ..two(
                "two jobs, one after the other, that need two workers",
                |pool| {
                    pool.rest();
                    pool.inject(1);
                    // The poster may count on a worker that searches, and has taken a job in fact.
                    pool.wait_until_taken();
                    pool.inject(1);
                    pool.wait_for(2);
                    pool.rest();
                }
            )
        },
    ]
}
