//! Pools whose schedule follows from a seed: one worker runs at a time, and a generator chooses
//! which one.
//!
//! | file | contents |
//! | --- | --- |
//! | `schedule` | what a schedule is, as a text and as a value |
//! | `choices` | the generator, or the switches that a schedule lists |
//! | `turns` | the turn, which one worker has at a time |
//! | `system` | whether a thread waits for something outside the pool |
//! | `explore` | runs a program under many schedules |
//! | `panics` | the first panics of a program, and its schedule at that time |
//! | `shrink` | omits the switches without which a program still fails |
//! | `failed` | the report of a program that fails |
//!
//! The turn changes when a worker begins a job ([`TurnObserver`]), and at calls of the [sleep
//! protocol](crate::sleep::seeded::Seeded) of such a pool. Jobs, joins, scopes and latches are the
//! same as in every other pool.

mod choices;
mod explore;
mod failed;
mod panics;
mod schedule;
mod shrink;
mod system;
mod turns;

#[cfg(test)]
mod tests;

use std::{ops::Range, sync::Arc};

pub use explore::{Explorer, explore};
pub use failed::{ExploreError, FailedProgram};
use pool_core::{Clock, Event, Observer, WorkerIndex};
pub use schedule::{NoSchedule, Schedule};
pub(crate) use turns::{Hold, Present, Turns};

use crate::{parker::OsParker, platform::WorkerThread};

/// The default number of workers of a seeded pool: the same on every machine.
pub(crate) const NUM_THREADS: usize = 4;

/// The maximum number of jobs from queues that a worker of a seeded pool runs inside one another.
pub(crate) const MAX_NESTING: usize = 64;

/// A pool's membership in turns, which it may share with other pools.
#[derive(Clone)]
pub(crate) struct Membership {
    pub(crate) turns: Arc<Turns>,
    /// The member number of the pool's first worker.
    first: usize,
}

impl Membership {
    /// Adds the workers of a pool as members.
    pub(crate) fn new(turns: Arc<Turns>, num_workers: usize) -> Self {
        let first = turns.add(num_workers);
        Self { turns, first }
    }

    /// Returns the member number of a worker.
    pub(crate) fn member(&self, worker: WorkerIndex) -> usize {
        self.first + worker.get()
    }

    /// Creates the parker of a worker. A worker that parks gives its turn back.
    pub(crate) fn parker(&self, worker: usize) -> OsParker {
        OsParker::in_turns(self.turns.clone(), self.first + worker)
    }

    /// Returns the member numbers of the pool's workers.
    pub(crate) fn members(&self, num_workers: usize) -> Range<usize> {
        self.first..self.first + num_workers
    }

    /// Returns the member number of the calling thread, if it is a member of these turns.
    pub(crate) fn here(&self) -> Option<usize> {
        with_current(|other, member| Arc::ptr_eq(&self.turns, &other.turns).then_some(member))?
    }
}

/// Makes the start of each job from a queue a [point](Turns::point), in a seeded pool.
pub(crate) struct TurnObserver(Option<(Arc<Turns>, usize)>);

impl TurnObserver {
    pub(crate) fn new(membership: &Option<Membership>, worker: usize) -> Self {
        let membership = membership.as_ref();
        Self(membership.map(|it| (it.turns.clone(), it.first + worker)))
    }
}

impl Observer for TurnObserver {
    #[inline(always)]
    fn observe(&self, event: Event, _clock: Clock) {
        if let Event::Job(_) = event
            && let Some((turns, member)) = &self.0
        {
            turns.point(*member);
        }
    }
}

/// Returns the turns of the calling worker, if its pool is seeded.
pub(crate) fn current_turns() -> Option<Arc<Turns>> {
    with_current(|membership, _| membership.turns.clone())
}

/// Makes this call a [point](Turns::point) if the worker's pool is seeded. For waits that poll.
pub(crate) fn point_if_seeded(worker: &WorkerThread) {
    with_member(worker, |membership, member| membership.turns.point(member));
}

/// Calls a closure with a worker's membership and member number, if its pool is seeded.
pub(crate) fn with_member<R>(
    worker: &WorkerThread,
    closure: impl FnOnce(&Membership, usize) -> R,
) -> Option<R> {
    let membership = worker.registry().data().turns.as_ref()?;
    Some(closure(membership, membership.member(worker.index())))
}

fn with_current<R>(closure: impl FnOnce(&Membership, usize) -> R) -> Option<R> {
    // SAFETY: 1. the reference is used in this call.
    let worker = unsafe { WorkerThread::current() }?;
    with_member(worker, closure)
}
