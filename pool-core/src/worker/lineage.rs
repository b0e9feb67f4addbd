//! Records from which stolen job the jobs on a worker's deque descend.
//!
//! A position at which a job was stolen is never used again, because thieves take the oldest job
//! and the start of the deque only moves forward. So the victim and the position identify a stolen
//! job forever: a [`Theft`]. While a worker runs a stolen job, it publishes the theft, and the
//! position at which its own deque ended when the job began. Each job that it pushes from that
//! position on descends from the stolen job.
//!
//! A job at a position `q` of the deque of `v` descends from what the worker `w` has pushed from
//! `p` on if one of these holds:
//! - `v` is `w`, and `q` is not before `p`;
//! - `v` publishes a theft, `q` is not before the start that it publishes, and the stolen job
//!   descends from what `w` has pushed from `p` on.
//!
//! Whenever a reader finds the second condition, it is true: what is published at this moment
//! belongs to a job that `v` runs at this moment. If the job at `q` had been pushed before that job
//! began, the deque would have ended beyond `q` when it began. Nor does the job at `q` come from a
//! job that has ended: at the end of a job that has left jobs, or from which jobs were stolen, the
//! worker publishes a later start for the job below it on its stack. That job may lose helpers, but
//! no foreign job ever seems to descend from it.
//!
//! A worker that runs one stolen job inside another publishes the inner one. Meanwhile, the jobs
//! that it has pushed for the outer one are not found, and the worker does not wake workers that
//! wait for the outer one. This loses helpers, too, but no job: see [`isolation`](crate::isolation)
//! for why each wait ends without helpers.
//!
//! A thief inherits the isolation of the job that its victim runs, but only for jobs that were
//! pushed since the victim has been isolated. Older jobs belong to jobs that the victim will return
//! to. So the worker also publishes the position from which on its jobs are isolated.
//!
//! What a reader finds is recent enough. A thief has acquired the push of the job that it steals,
//! and publishes its own lineage after that. So a reader that has acquired the thief's lineage sees
//! that of the victim as it was at the push, or a later one.

use deque_core::Position;

use crate::{
    isolation::Isolation,
    job::JobRef,
    platform::Platform,
    worker::{WorkerThread, open_scopes::Reset},
};

mod published;
#[cfg(test)]
mod tests;

pub(crate) use published::PublishedLineage;

/// Identifies a job that was stolen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theft {
    pub(crate) victim: usize,
    pub(crate) position: Position,
}

/// A job that a worker has found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) job: JobRef,
    /// Set for a stolen job that inherits the isolation of its victim.
    pub(crate) isolated: Option<(Theft, Isolation)>,
}

impl Found {
    /// Wraps a job that does not come from another worker's deque.
    pub(crate) const fn own(job: JobRef) -> Self {
        Self {
            job,
            isolated: None,
        }
    }
}

/// What a worker tells others about the job that it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lineage {
    /// The job that the worker runs, if it was stolen and is isolated.
    theft: Option<Theft>,
    /// The first position of the worker's deque at which there may be jobs that this job has
    /// pushed.
    begin: Position,
    isolation: Isolation,
    /// The first position of the worker's deque at which there may be isolated jobs.
    isolated_from: Position,
}

impl<P: Platform> WorkerThread<P> {
    /// Whether this worker is in an [isolated](Self::isolate) job, or its pool isolates all waits.
    /// For platforms: a detached job that such a worker spawns belongs in the injector, because
    /// jobs on the worker's deque may run in its waits.
    #[inline]
    pub fn is_isolated(&self) -> bool {
        self.shared().lineage.isolation() != Isolation::Anything
    }

    /// Whether this worker runs what the job in which it is leaves on its deque, before anything
    /// else: a job that was stolen in isolation, or one of an isolated scope.
    pub(crate) fn runs_rest_of_job(&self) -> bool {
        self.runs_rest.get() || self.shared().lineage.own().theft.is_some()
    }

    /// Publishes the lineage of a worker that arrives.
    pub(super) fn begin_lineage(&self) {
        let begin = self.own().next_position();
        self.begin.set(begin);
        self.shared().lineage.publish(Lineage {
            theft: None,
            begin,
            isolation: match self.can_isolate() {
                true => P::isolation(self.registry(), 0),
                false => Isolation::Anything,
            },
            isolated_from: begin,
        });
    }

    /// Returns what the job that this worker runs allows it to run while it waits. This also
    /// applies to workers that run jobs that this job has pushed.
    pub(crate) fn isolation_of_job(&self) -> Isolation {
        if self.can_isolate() {
            self.shared().lineage.isolation()
        } else {
            Isolation::Anything
        }
    }

    /// Returns what this worker may run if it waits at this moment.
    pub fn isolation(&self) -> Isolation {
        if !self.can_isolate() {
            return Isolation::Anything;
        }
        let ambient = P::isolation(self.registry(), self.depth());
        self.isolation_of_job().max(ambient)
    }

    /// Runs a closure. In its waits, this worker may run only what `isolation` allows, or less if
    /// it is already restricted to less. This also applies to workers that steal jobs of the
    /// closure.
    ///
    /// With a breadth-first deque, this has no effect: a worker that takes its oldest job first
    /// cannot skip the jobs that it had before.
    pub fn isolate<R>(&self, isolation: Isolation, closure: impl FnOnce() -> R) -> R {
        if !self.can_isolate() {
            return closure();
        }
        let _isolated = self.begin_isolated(isolation);
        closure()
    }

    /// Isolates this worker as [`isolate`](Self::isolate) does until the value is dropped, if it
    /// [can](Self::can_isolate).
    pub(crate) fn begin_isolated(&self, isolation: Isolation) -> Inner<'_, P> {
        let outer = self.shared().lineage.own();
        // What the job has pushed before the closure descends from the same theft.
        let lineage = Lineage {
            isolation: isolation.max(outer.isolation),
            ..outer
        };
        Inner::begin(self, lineage, true)
    }

    /// Calls a closure that runs another job, and publishes a lineage for that job meanwhile.
    pub(crate) fn with_lineage(
        &self,
        theft: Option<Theft>,
        isolation: Isolation,
        closure: impl FnOnce(),
    ) {
        let outer = self.shared().lineage.own();
        let lineage = Lineage {
            theft,
            begin: self.own().next_position(),
            isolation,
            ..outer
        };
        let _inner = Inner::begin(self, lineage, false);
        closure();
    }

    /// Whether a job of a worker's deque descends from what this worker has pushed from a position
    /// on. May return false for a job that does, and returns `None` if a lineage changes meanwhile.
    pub(crate) fn descends(&self, job: Theft, from: Position) -> Option<bool> {
        let workers = self.registry().workers();
        let mut job = job;
        // What others publish changes meanwhile, so the steps might go in a circle.
        for _ in 0..workers.len() {
            if job.victim == self.index().get() {
                let position = job.position;
                return Some(position.is_at_or_after(from) && !self.may_be_foreign(position));
            }
            let lineage = workers[job.victim].lineage.read()?;
            let is_of_theft = job.position.is_at_or_after(lineage.begin);
            let Some(theft) = lineage.theft.filter(|_| is_of_theft) else {
                return Some(false);
            };
            job = theft;
        }
        Some(false)
    }

    /// Whether a job is known to descend from what this worker has pushed from a position on.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn is_descendant(&self, job: Theft, from: Position) -> bool {
        self.descends(job, from) == Some(true)
    }
}

/// A worker that runs a job, or a closure, with a lineage of its own. When this is dropped, even by
/// a panic, it publishes the lineage of the outer job.
pub(crate) struct Inner<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
    outer: Lineage,
    outer_begin: Position,
    begin: Position,
    /// Whether this is a closure of the outer job.
    is_same_job: bool,
    _scopes: Reset<'w>,
}

impl<'w, P: Platform> Inner<'w, P> {
    /// Publishes a lineage. Its `isolated_from` is not used, but derived from the outer lineage.
    fn begin(worker: &'w WorkerThread<P>, lineage: Lineage, is_same_job: bool) -> Self {
        let published = &worker.shared().lineage;
        let outer = published.own();
        let begin = worker.own().next_position();
        // What this worker has pushed before an isolated job, or before the closure of an isolated
        // call, is not isolated.
        let isolated_from = match outer.isolation {
            Isolation::Anything => begin,
            _ => outer.isolated_from,
        };
        published.publish(Lineage {
            isolated_from,
            ..lineage
        });
        Self {
            worker,
            outer,
            outer_begin: worker.begin.replace(begin),
            begin,
            is_same_job,
            _scopes: worker.open_scopes.hide(),
        }
    }
}

impl<P: Platform> Drop for Inner<'_, P> {
    fn drop(&mut self) {
        let published = &self.worker.shared().lineage;
        let end = self.worker.own().next_position();
        let mut outer = self.outer;
        if self.is_same_job {
            // A job that ran in the closure may have left jobs, and so published a later start.
            outer.begin = published.own().begin;
        } else if end != self.begin {
            // Jobs that were pushed since are left, or were stolen, and do not belong to the outer
            // job.
            outer.begin = end;
        }
        self.worker.begin.set(self.outer_begin);
        self.worker.lower_begin();
        published.publish(outer);
    }
}
