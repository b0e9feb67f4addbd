//! The sleep protocol of seeded pools, whose workers run one at a time.

use std::{
    ops::Range,
    sync::atomic::{Ordering, fence},
};

use pool_core::{
    AwakeSet, CoreLatch, IdlePolicy, LendSeats, NewJobs, Origin, Purpose, SleepProtocol,
    WorkerIndex,
};

use crate::{parker::OsParker, seeded::Membership};

/// The protocol of seeded pools. It wakes all sleepers for each job, and makes each of these a
/// point at which another worker may go on, beside the [begin](crate::seeded::TurnObserver) of a
/// job:
///
/// | what | the call |
/// | --- | --- |
/// | a worker has queued jobs | `announce` |
/// | it is going to look for jobs: it has run one, or waits for a latch | `start_looking` |
/// | it has found none, and sleeps | `no_work_found` |
///
/// Setting a latch, and queuing a job for one worker alone, wake workers and are no points, because
/// callers hold locks of the pool. The worker that does so comes to a point soon: when its job has
/// ended.
///
/// It always says that a worker sleeps, so that workers announce each job.
///
/// Source: the idea of [shuttle](https://docs.rs/shuttle) and of S. Burckhardt and others, *A
/// randomized scheduler with probabilistic guarantees of finding bugs* (2010), with the scheduler
/// in the place of a sleep protocol.
pub(crate) struct Seeded {
    parkers: Box<[OsParker]>,
    membership: Membership,
}

impl Seeded {
    pub(super) fn new(parkers: Box<[OsParker]>, membership: Membership) -> Self {
        Self {
            parkers,
            membership,
        }
    }

    /// It does not search for a time, but for as long as its turn comes.
    #[expect(clippy::unused_self, reason = "as the other protocols")]
    pub(super) fn policy(&self) -> IdlePolicy {
        IdlePolicy::IMMEDIATE
    }

    fn point(&self, worker: WorkerIndex) {
        self.membership.turns.point(self.membership.member(worker));
    }

    fn members(&self) -> Range<usize> {
        self.membership.members(self.parkers.len())
    }
}

impl SleepProtocol for Seeded {
    type Parker = OsParker;
    type IdleState = WorkerIndex;
    type Hint = ();

    fn num_workers(&self) -> usize {
        self.parkers.len()
    }

    fn parker(&self, worker: WorkerIndex) -> &OsParker {
        &self.parkers[worker.get()]
    }

    fn start_looking(&self, worker: WorkerIndex, _purpose: Purpose) -> WorkerIndex {
        self.point(worker);
        worker
    }

    fn no_work_found(
        &self,
        &mut worker: &mut WorkerIndex,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        let Membership { turns, .. } = &self.membership;
        let member = self.membership.member(worker);
        if !latch.get_sleepy() {
            return;
        }
        turns.register(member);
        if !latch.fall_asleep() {
            turns.unregister(member);
            return;
        }
        // Ordering: the sleeper's fence. Pairs with that of `announce` and `announce_for`, for jobs
        // that a thread outside queues: either it sees that this worker is registered, or the look
        // below sees the job. Nothing weaker orders the registration before the look.
        fence(Ordering::SeqCst);
        if has_work() {
            turns.unregister(member);
            latch.wake_up();
            // What it has seen may be for others alone, such as an operation that is due while this
            // worker reads.
            turns.point(member);
        } else {
            // Liveness: a thread that queues a job, or sets the latch, wakes the worker.
            turns.sleep(member);
            latch.wake_up();
        }
    }

    /// The begin of the job is a point.
    fn work_found(&self, _worker: WorkerIndex, _more_work: impl FnOnce() -> bool) {}

    fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>) {
        if jobs.count == 0 {
            return;
        }
        if jobs.origin == Origin::Injected {
            // Ordering: the poster's fence, see `no_work_found`.
            fence(Ordering::SeqCst);
        }
        let Membership { turns, .. } = &self.membership;
        turns.wake_all(self.members());
        if let Some(member) = self.membership.here() {
            turns.point(member);
        }
    }

    fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>) {
        // Ordering: the poster's fence, see `no_work_found`.
        fence(Ordering::SeqCst);
        let members = workers
            .into_iter()
            .map(|worker| self.membership.member(worker));
        self.membership.turns.wake_all(members);
    }

    fn all_are_awake(&self) -> bool {
        false
    }

    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        self.membership.turns.wake(self.membership.member(worker))
    }

    fn num_inactive(&self) -> usize {
        self.num_sleeping()
    }

    fn num_sleeping(&self) -> usize {
        self.membership.turns.num_asleep(self.members())
    }
}

/// A seeded pool has no guests.
impl LendSeats for Seeded {}

/// It does not say who is awake.
impl AwakeSet for Seeded {}
