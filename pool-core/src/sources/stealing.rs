//! How a worker steals from the deques of others, and where it has found jobs lately.

use core::cell::Cell;

use deque_core::{Deque, Position, Steal, Storage};

use crate::{
    isolation::Isolation,
    job::JobRef,
    metrics::{Event, Observer as _},
    platform::Platform,
    unwind::no_unwind,
    worker::{
        WorkerThread,
        lineage::{Found, Theft},
    },
};

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of jobs that a worker takes from one source before it looks elsewhere again, in the
/// order in which it always searches.
const MOST_IN_A_ROW: u8 = 64;

/// A source that workers take jobs of others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Injector,
    /// The deque of the worker with this number.
    Worker(usize),
}

/// The source in which a worker's last search has found a job, and for how many jobs more the
/// worker looks there first.
#[derive(Debug)]
pub(crate) struct LastSource {
    source: Cell<Source>,
    left: Cell<u8>,
}

impl LastSource {
    /// Creates the value of a worker that has found no job yet.
    pub(crate) const fn new() -> Self {
        Self {
            source: Cell::new(Source::Injector),
            left: Cell::new(0),
        }
    }

    /// Notes that the worker has found a job in this source.
    #[inline]
    pub(crate) fn note_found(&self, source: Source) {
        self.source.set(source);
        self.left.set(MOST_IN_A_ROW);
    }

    /// Returns where to look for one more job.
    #[inline]
    pub(crate) fn next(&self) -> Option<Source> {
        let left = self.left.get().checked_sub(1)?;
        self.left.set(left);
        Some(self.source.get())
    }

    /// Whether the last search that found a job found it in another worker's deque.
    #[inline]
    pub(crate) fn was_worker(&self) -> bool {
        matches!(self.source.get(), Source::Worker(_))
    }

    /// Notes that the source had no more.
    pub(crate) fn note_empty(&self) {
        self.left.set(0);
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Steals a job from another worker. Begins at a random worker, so that thieves spread.
    pub(super) fn steal(&self) -> Steal<Found> {
        let registry = self.registry();
        let mut first = self.random.below(registry.num_workers());
        let has_jobs = registry.any_awake_deque(self.awake_index(), first, |worker, deque| {
            first = worker;
            !deque.is_empty()
        });
        if !has_jobs {
            return Steal::Empty;
        }
        self.announcing_moved(|| self.steal_from_any(first))
    }

    /// Steals from one worker, unless it is this one, has nothing, or makes a call that is
    /// shielded.
    pub(super) fn steal_from(&self, victim: usize) -> Steal<Found> {
        self.announcing_moved(|| self.try_worker(victim))
    }

    /// Calls a closure that steals a job and may move others, and announces the moved jobs. It does
    /// so after the walk over the workers, in which the closure is called by the sleep protocol,
    /// and before this worker lets progress continue, which may call wake-ups of the program.
    #[inline]
    fn announcing_moved(&self, steal: impl FnOnce() -> Steal<(Found, usize)>) -> Steal<Found> {
        self.while_stealing(|| {
            steal().map(|(found, moved)| {
                self.announce_moved(moved);
                found
            })
        })
    }

    /// Calls a closure that steals. Meanwhile no buffer that a victim replaces is freed.
    #[inline]
    pub(crate) fn while_stealing<T>(&self, steal: impl FnOnce() -> Steal<T>) -> Steal<T> {
        if !P::Storage::REPLACES {
            return steal();
        }
        // The end of the sweep runs wake-ups of the program. A panic would lose a stolen job.
        let stolen = no_unwind(|| self.managed.while_active(steal));
        // The end may also have made operations due, and this worker may go on with a job, of this
        // sweep or of another source, or sleep in isolation.
        self.registry().announce_operations();
        // Only code of the platform can begin a search in the middle of progress; such a search
        // finds nothing to steal.
        stolen.unwrap_or(Steal::Empty)
    }

    /// Tries every other worker that may be awake once, from the worker `first` on.
    fn steal_from_any(&self, first: usize) -> Steal<(Found, usize)> {
        let mut answer = Steal::Empty;
        let registry = self.registry();
        registry.any_awake_deque(self.awake_index(), first, |victim, _| {
            // A protocol may ask again after an answer.
            if answer.is_success() {
                return true;
            }
            let stolen = self.try_worker(victim);
            match stolen {
                Steal::Success(_) => self.last_source.note_found(Source::Worker(victim)),
                Steal::Empty => return false,
                Steal::Retry => {}
            }
            answer = stolen;
            answer.is_success()
        });
        answer
    }

    /// Tries one worker. Also returns how many other jobs were moved to this worker's deque.
    #[inline]
    fn try_worker(&self, victim: usize) -> Steal<(Found, usize)> {
        if self.respects_shield(victim) {
            return Steal::Empty;
        }
        let lineage = &self.registry().workers()[victim].lineage;
        let (isolated, is_victim_isolated) = (Cell::new(None), Cell::new(false));
        let stolen = self.try_stealing(victim, |deque, observer| {
            let accepts = |position| {
                let (isolation, is_isolated) = lineage.isolation_at(position);
                is_victim_isolated.set(isolation != Isolation::Anything);
                isolated.set(is_isolated.then_some((Theft { victim, position }, isolation)));
                true
            };
            let (stealer, on_revocation) = (deque.stealer(), || {
                observer.observe(Event::Revocation { victim }, P::now)
            });
            if !self.may_move_jobs_of(victim) {
                return stealer.steal_if(accepts, on_revocation).map(|job| (job, 0));
            }
            let victim = &self.registry().workers()[victim];
            let is_single = || is_victim_isolated.get() || victim.owes_job();
            let follows = |words: &_| JobRef::may_be_moved(words) && !is_single();
            stealer.steal_with_followers(self.own(), accepts, follows, on_revocation)
        });
        let isolated = isolated.into_inner();
        stolen.map(|(job, moved)| (Found { job, isolated }, moved))
    }

    /// Whether a steal may also move jobs to this worker's deque: half of those that another worker
    /// has left to others, so that the two need not meet at each job.
    ///
    /// Not the jobs of joins. Their owner takes them back as long as they are on its deque, and the
    /// oldest one is as much work as all the others together. Nor what an isolated worker has,
    /// which waits for a job that is stolen, and may be the only one that could run it. For
    /// others it is enough that any worker can take what was moved. A worker that waits for a
    /// part of its own deque leaves moved jobs below; but they were there before it queued what
    /// it waits for, so that nothing of that waits for them.
    fn may_move_jobs_of(&self, victim: usize) -> bool {
        self.may_post() && self.registry().workers()[victim].may_hold_posted()
    }

    /// Tries one worker as [`steal_from`](Self::steal_from) does, but leaves the job there if it is
    /// at a position that is not accepted.
    #[inline]
    pub(crate) fn steal_if(
        &self,
        victim: usize,
        accepts: impl FnOnce(Position) -> bool,
    ) -> Steal<JobRef> {
        self.try_stealing(victim, |deque, observer| {
            deque.stealer().steal_if(accepts, || {
                observer.observe(Event::Revocation { victim }, P::now)
            })
        })
    }

    /// Calls a closure that steals from another worker, unless that has nothing.
    #[inline]
    fn try_stealing<T>(
        &self,
        victim: usize,
        steal: impl FnOnce(&Deque<JobRef, P::Storage>, &P::Observer) -> Steal<T>,
    ) -> Steal<T> {
        let deque = &self.registry().workers()[victim].deque;
        if victim == self.index().get() || deque.is_empty() {
            return Steal::Empty;
        }
        let observer = self.observer();
        let observe = |event| observer.observe(event, P::now);
        observe(Event::StealAttempt { victim });
        let answer = steal(deque, observer);
        match answer {
            Steal::Success(_) => observe(Event::Steal { victim }),
            Steal::Empty => {}
            Steal::Retry => observe(Event::StealRetry { victim }),
        }
        answer
    }
}
