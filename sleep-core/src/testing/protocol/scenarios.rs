//! The programs that the check of a protocol runs.

use std::{
    format,
    string::String,
    sync::{Arc, atomic::Ordering::SeqCst},
    vec::Vec,
};

use super::{
    super::{
        ScheduledParker,
        schedule::{Bounds, Script, explore},
    },
    Pool, SHARED, Sources, WORKERS, awake_sources, own_sources,
};
use crate::{AwakeSet, LendSeats, NewJobs, SleepProtocol, protocol::full_fence};

/// What the jobs of a scenario do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Jobs {
    /// They end at once.
    Short,
    /// The first one ends when the second one has begun. So two workers must run them.
    NeedEachOther,
    /// The first one queues another one on its worker's own queue, and ends when that has begun. So
    /// another worker must take it from there.
    Fork,
    /// The first one ends when the second one has been run. Its worker looks for other jobs
    /// meanwhile, or sleeps.
    Wait,
}

/// One program whose schedules are explored.
pub(crate) struct Scenario<S> {
    pub(crate) title: &'static str,
    workers: usize,
    preemptions: usize,
    spurious: usize,
    jobs: Jobs,
    /// What the thread outside does, before it stops the workers.
    outside: fn(&Pool<S>),
    /// What a guest does, if one comes.
    guest: Option<fn(&Pool<S>)>,
    sources: Sources<S>,
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
            guest: None,
            sources: own_sources,
        }
    }

    const fn of_one_worker(title: &'static str, outside: fn(&Pool<S>)) -> Self {
        Self {
            preemptions: 2,
            ..Self::new(title, 1, outside)
        }
    }

    pub(crate) fn run(&self, make: &impl Fn(usize) -> S) {
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
        if let Some(guest) = self.guest {
            actors.push(("the guest", Arc::new(guest)));
        }
        let bounds = Bounds {
            preemptions: self.preemptions,
            spurious: self.spurious,
        };
        let make = || Pool::new(make(self.workers), self.jobs, self.sources);
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

/// Returns those for every protocol, the smallest first.
pub(crate) fn of_protocol<S>() -> Vec<Scenario<S>>
where
    S: SleepProtocol<Parker = ScheduledParker> + Send + Sync + 'static,
{
    let one = Scenario::of_one_worker;
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
                    pool.sleep.announce(NewJobs::internal(1, || was_empty));
                }
                pool.wait_for(1);
            }
        ),
        one("a job for a pool at rest", |pool| {
            pool.rest();
            pool.announce_nothing();
            pool.inject(1);
            pool.wait_for(1);
            pool.rest();
        }),
        one("a job of an interrupt handler", |pool| {
            pool.interrupts.store(true, SeqCst);
            pool.rest();
            // A worker that never sleeps takes no last look, in which it could be interrupted.
            pool.interrupt();
            pool.wait_for(1);
        }),
        one("a worker that is woken without a job", Pool::wake_at_rest),
        two("a stop of two workers", |_| ()),
        two("a job for the second worker", |pool| {
            pool.push(2);
            pool.sleep.announce_for([pool.worker(1)]);
            pool.wait_for(1);
        }),
        two("a job for each worker", |pool| {
            pool.push(1);
            pool.push(2);
            pool.sleep
                .announce_for([0, 1].map(|index| pool.worker(index)));
            pool.wait_for(2);
        }),
        Scenario {
            jobs: Jobs::Wait,
            ..one("a job that waits for a later one", |pool| {
                pool.inject(1);
                pool.wait_until_taken();
                pool.inject(1);
                pool.wait_for(2);
            })
        },
        Scenario {
            jobs: Jobs::Wait,
            ..two("a job that waits for one of another worker", |pool| {
                pool.inject(1);
                pool.rest();
                pool.inject(1);
                pool.wait_for(2);
            })
        },
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

/// Returns those for protocols that lend seats.
pub(crate) fn of_lending<S>() -> Vec<Scenario<S>>
where
    S: LendSeats<Parker = ScheduledParker> + Send + Sync + 'static,
{
    let guest = |title, outside| Scenario {
        guest: Some(Pool::visit),
        ..Scenario::of_one_worker(title, outside)
    };
    std::vec![
        guest("a job and a guest", |pool| {
            pool.inject(1);
            pool.wait_for(2);
        }),
        Scenario {
            spurious: 1,
            ..guest("a guest, and a park that returns early", |pool| {
                pool.wait_for(1);
            })
        },
        guest("a job for the worker and a guest", |pool| {
            pool.push(1);
            pool.sleep.announce_for([pool.worker(0)]);
            pool.wait_for(2);
        }),
        // The request comes while the seat is lent, or before or afterwards.
        guest("a stop and a guest", |pool| {
            pool.sleep.caller_resumed();
            pool.stop();
            full_fence();
            pool.sleep.wake_worker(pool.worker(0));
        }),
        Scenario {
            guest: Some(Pool::stay),
            ..Scenario::of_one_worker("a guest that sleeps", |pool| {
                pool.visit.set(&pool.sleep, pool.worker(0));
                pool.wait_for(1);
            })
        },
        Scenario::of_one_worker("a guest of a pool at rest", Pool::visit_at_rest),
    ]
}

/// Returns those for protocols that may leave out workers that sleep.
pub(crate) fn of_awake_set<S>() -> Vec<Scenario<S>>
where
    S: AwakeSet<Parker = ScheduledParker> + Send + Sync + 'static,
{
    let fork = |title, outside| Scenario {
        jobs: Jobs::Fork,
        sources: awake_sources,
        ..Scenario::new(title, 2, outside)
    };
    std::vec![
        fork(
            "a job that leaves another one to the second worker",
            |pool| {
                pool.inject(1);
                pool.wait_for(2);
            }
        ),
        fork("such a job for a pool at rest", |pool| {
            pool.ask_until_held();
            pool.rest();
            pool.inject(1);
            pool.wait_for(2);
            pool.rest();
        }),
    ]
}
