//! When a worker looks for a job out of the order in which it always searches.

use core::cell::Cell;

use deque_core::Position;

use super::{Found, Steal, WorkerThread};
use crate::{
    isolation::Isolation, job::JobRef, platform::Platform, queue::JobQueue as _, retries::Retries,
};

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of jobs between two fair looks. Small enough that no job waits for long, and large
/// enough that the order of a search decides on almost all jobs.
const JOBS_BETWEEN_LOOKS: u8 = 64;

/// The fair looks of a worker, at which each source comes first in its turn.
///
/// Without them, a source could keep every worker from those below it in the table of
/// [`sources`](crate::sources): urgent jobs that come faster than they are run, or jobs that spawn
/// the next one on their worker's deque.
///
/// # What is promised
///
/// A worker takes a fair look when it would begin each 64th job at top level, below no other job on
/// its stack, and each 64th urgent job. A thread that has borrowed a worker has a stack of
/// its own. The worker then looks at the sources of the list [`FairSource::ALL`], beginning with
/// another one each time. So among 320 jobs that a worker begins at top level, there is one from
/// each source that is not empty at its look. Urgent jobs come first at all other times.
///
/// In the wait of a job only urgent jobs are counted. The wait ends, as a rule, when the worker has
/// run its own jobs, and a foreign one that came between them would delay it.
///
/// # The worker's own queues
///
/// If jobs were pushed above a job of the deque without end, that job would wait forever unless
/// another worker stole it, and so would the jobs of the inbox. Two futures that wake each other
/// push such jobs. So the worker takes each 128th of its own jobs from the other end of the deque,
/// and as many from the inbox before the deque is empty, in waits too. In the wait of a job it
/// leaves alone what was on the deque before the job: an older job may itself wait, on top of this
/// wait, and so on without end. An [isolated](crate::isolation) wait leaves alone what was there
/// before what it waits for, as it always does. While such jobs are there, the deque has no turn.
/// In isolation, the turns of the inbox are also those of the queues of scopes, when it is empty.
#[derive(Debug)]
pub(crate) struct FairLooks {
    /// The number of jobs at top level, of urgent ones, and of the worker's own ones, that are left
    /// until the next look.
    jobs: Cell<u8>,
    urgent: Cell<u8>,
    own: Cell<u8>,
    /// Whether the inbox comes first at the next look at the worker's own queues, or the oldest job
    /// of its deque.
    inbox_is_next: Cell<bool>,
    /// The number in [`FairSource::ALL`] of the source that comes first at the next look.
    next: Cell<u8>,
}

/// What comes before the newest job of a worker's deque, in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnTurn {
    Inbox,
    /// The oldest job of the deque.
    Oldest,
}

/// A source that comes first at some fair looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FairSource {
    Deque,
    Inbox,
    Others,
    Injector,
    Background,
}

impl FairSource {
    const ALL: [Self; 5] = [
        Self::Background,
        Self::Injector,
        Self::Others,
        Self::Inbox,
        Self::Deque,
    ];
}

impl FairLooks {
    /// Creates the value of a worker that has begun no job.
    pub(crate) const fn new() -> Self {
        Self {
            jobs: Cell::new(JOBS_BETWEEN_LOOKS),
            urgent: Cell::new(JOBS_BETWEEN_LOOKS),
            own: Cell::new(JOBS_BETWEEN_LOOKS),
            inbox_is_next: Cell::new(true),
            next: Cell::new(0),
        }
    }

    /// Counts a job. Returns whether a fair look comes before it.
    #[inline]
    fn count(jobs: &Cell<u8>) -> bool {
        let left = jobs.get() - 1;
        jobs.set(left);
        left == 0 && {
            jobs.set(JOBS_BETWEEN_LOOKS);
            true
        }
    }

    /// Counts a job of the worker's own. Returns whose turn comes before this job, if any.
    #[inline]
    pub(crate) fn count_own(&self) -> Option<OwnTurn> {
        if Self::count(&self.own) {
            Some(self.begin_own_turn())
        } else {
            None
        }
    }

    #[cold]
    fn begin_own_turn(&self) -> OwnTurn {
        if self.inbox_is_next.replace(!self.inbox_is_next.get()) {
            OwnTurn::Inbox
        } else {
            OwnTurn::Oldest
        }
    }

    /// Returns the sources in the order of the next look.
    fn begin(&self) -> impl Iterator<Item = FairSource> + use<> {
        let first = usize::from(self.next.get());
        let count = FairSource::ALL.len();
        self.next.set(((first + 1) % count) as u8);
        (0..count).map(move |step| FairSource::ALL[(first + step) % count])
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Counts a job that this worker begins at top level. Returns whether a fair look comes before
    /// it.
    #[inline]
    pub(crate) fn count_job(&self) -> bool {
        FairLooks::count(&self.fair_looks.jobs)
    }

    /// Whether urgent jobs wait to be taken.
    #[inline]
    pub(crate) fn has_urgent_jobs(&self) -> bool {
        !self.registry().injectors().urgent().is_empty()
    }

    /// Runs a job that comes before this worker's own ones: an urgent one, or any if a fair look is
    /// due. Returns whether there was one.
    #[cold]
    pub(crate) fn run_before_own(&self, is_look_due: bool) -> bool {
        P::begin_search(self.registry());
        let fair = is_look_due.then(|| self.take_fairly()).flatten();
        self.run_one(fair.or_else(|| self.take_urgent()))
    }

    /// Takes the job at the front of the urgent ones, or at a fair look another one.
    #[inline]
    pub(crate) fn take_urgent(&self) -> Option<Found> {
        if self.has_urgent_jobs() {
            self.take_urgent_cold()
        } else {
            None
        }
    }

    #[cold]
    fn take_urgent_cold(&self) -> Option<Found> {
        if FairLooks::count(&self.fair_looks.urgent)
            && let Some(found) = self.take_fairly()
        {
            return Some(found);
        }
        let mut retries = Retries::new();
        loop {
            match self.registry().injectors().urgent().steal() {
                Steal::Success(job) => return Some(Found::own(job)),
                Steal::Empty => return None,
                Steal::Retry => retries.wait(self),
            }
        }
    }

    /// Lets the oldest job of this worker's deque come next.
    pub(crate) fn let_oldest_come_next(&self) {
        self.fair_looks.own.set(1);
        self.fair_looks.inbox_is_next.set(false);
    }

    /// Takes a job of this worker's own that is not the newest one, if it is the turn of such a
    /// job. In an isolated job there is none: its waits have [others](Self::run_isolated_in_turn).
    #[inline]
    pub(crate) fn take_own_in_turn(&self) -> Option<JobRef> {
        match self.fair_looks.count_own() {
            Some(turn) => self.take_own(turn),
            None => None,
        }
    }

    #[cold]
    fn take_own(&self, turn: OwnTurn) -> Option<JobRef> {
        // Otherwise it may not run what it finds there.
        if !self.may_post() || self.isolation() != Isolation::Anything {
            return None;
        }
        match turn {
            OwnTurn::Inbox => self.take_inbox_job(),
            OwnTurn::Oldest => self.take_oldest_job(),
        }
    }

    /// Takes the oldest job of this worker's deque, if it is the turn of that and it was pushed
    /// from a position on: for an isolated join that may take back its own job. It must be run as
    /// that of [`take_local_job`](Self::take_local_job). Runs a job of the inbox in its turn.
    pub(crate) fn take_oldest_in_turn(&self, from: Position) -> Option<JobRef> {
        match self.fair_looks.count_own() {
            Some(OwnTurn::Oldest) => self.take_oldest_from(from),
            Some(OwnTurn::Inbox) => {
                self.run_inbox_job();
                None
            }
            None => None,
        }
    }

    /// Takes a job from the first source that has one, in the order of a fair look. May overlook
    /// one that another thread is about to push or to take.
    #[cold]
    fn take_fairly(&self) -> Option<Found> {
        self.fair_looks.begin().find_map(|source| match source {
            FairSource::Background => self.take_background().success(),
            FairSource::Injector => self.take_injected().success(),
            FairSource::Others => self.steal().success(),
            FairSource::Inbox => self.take_inbox_job().map(Found::own),
            FairSource::Deque => self.take_deque_job().map(Found::own),
        })
    }
}
