//! How a worker waits if it may run only some of the pool's jobs meanwhile, see [`Isolation`].
//!
//! Such a worker counts as active all the time, like a worker in a long job. So no poster relies on
//! it, and the sleep protocol does not know that it waits. See [`lone_sleep`](super::lone_sleep)
//! for how it sleeps, and what wakes it.

use deque_core::{Order, Position, Steal};
use sleep_core::{CoreLatch, Parker as _};

use crate::{
    isolation::Isolation,
    job::JobRef,
    metrics::{Event, Observer as _, SearchEnd},
    platform::Platform,
    sources::OwnTurn,
    unwind::no_unwind,
    worker::{
        WorkerThread,
        idle::{Setter, Token},
        lineage::{Found, Theft},
        lone_sleep::LoneSleep,
        open_scopes::TakeOutside,
        wait::{Awaited, OutsideScopes},
    },
};

#[cfg(test)]
mod tests;

/// The number of searches before a worker sleeps. Between two searches it relaxes, which takes from
/// tens of nanoseconds to a time slice. To wake a worker takes some microseconds.
const ROUNDS: u32 = if cfg!(loom) { 1 } else { 64 };

impl<P: Platform> WorkerThread<P> {
    /// Whether this worker can leave older jobs on its deque alone.
    pub(super) fn can_isolate(&self) -> bool {
        self.own().deque().order() == Order::Lifo
    }

    /// Waits until the latch is set. Meanwhile runs only `awaited` jobs, jobs that descend from
    /// them, and jobs that only this worker may run.
    #[cold]
    pub(super) fn wait_isolated(&self, latch: &CoreLatch, awaited: Awaited, setter: Setter) {
        // The frame that waits holds jobs or the latch, so no panic may leave it.
        no_unwind(|| {
            let mut wait = IsolatedWait {
                worker: self,
                from: awaited.from,
                isolation: awaited.isolation,
                outside: awaited.outside,
                found: None,
                rounds: 0,
                state: State::Active,
            };
            while wait.found.is_some() || !latch.probe() {
                if !wait.run_one() {
                    wait.rest(latch, setter);
                }
            }
            wait.note_active(SearchEnd::Latch);
        });
    }

    /// Leaves to other workers what this one has, but does not run because it is isolated.
    fn leave_to_others(&self) {
        let registry = self.registry();
        // This worker answers no thief while it sleeps.
        self.own().end_bias();
        let mut has_work = self.leave_operations() || self.has_pending_jobs();
        if P::parallelism(registry) < registry.num_workers() {
            // One worker fewer is awake than others have counted on.
            registry.reconsider_wakes();
            has_work |= self.has_work_for_others();
        }
        if has_work {
            // As if the work were posted now, by a thread that will not run it.
            registry.announce_jobs(1);
        }
    }

    /// Takes a job that no worker has queued. `scopes` selects among the scopes that the innermost
    /// job has opened.
    pub(super) fn take_outside_job(&self, scopes: OutsideScopes) -> Option<JobRef> {
        self.shared().lone_sleep.answer_call();
        let is_looked_at = match scopes {
            OutsideScopes::None => 0,
            OutsideScopes::Innermost => 1,
            OutsideScopes::All => usize::MAX,
        };
        self.open_scopes.find_job(is_looked_at, self.depth())
    }

    /// Calls a closure while a scope is open whose wait, for the jobs `awaited`, is isolated.
    /// `take` takes the jobs of the scope that no worker has queued.
    pub(crate) fn while_scope_is_open<R>(
        &self,
        take: TakeOutside<'_>,
        awaited: Awaited,
        closure: impl FnOnce() -> R,
    ) -> R {
        struct AnswerAtEnd<'w>(&'w LoneSleep);

        impl Drop for AnswerAtEnd<'_> {
            fn drop(&mut self) {
                self.0.answer_call();
            }
        }

        // Other workers may have ended the scope, so that there was no wait. An unanswered call
        // would claim that there is work for this worker. Waits for outer scopes look before they
        // sleep.
        let _answer = AnswerAtEnd(&self.shared().lone_sleep);
        self.open_scopes
            .while_open(take, awaited.from, self.depth(), closure)
    }

    /// Runs a job of this worker's deque that was pushed from a position on, or
    /// [another one](Self::run_isolated_in_turn) in its turn. Returns whether there was one.
    pub(super) fn run_isolated_job(&self, from: Position) -> bool {
        let is_run = self.run_isolated_in_turn(from);
        is_run || self.run_one(self.take_job_from(from).map(Found::own))
    }

    /// Runs one of this worker's own jobs other than the newest one, if it is the turn of such a
    /// job: a job that is on no deque, or the oldest job that was pushed from a position on.
    /// Returns whether there was one. See [`FairLooks`](crate::sources::FairLooks).
    pub(super) fn run_isolated_in_turn(&self, from: Position) -> bool {
        match self.fair_looks.count_own() {
            Some(OwnTurn::Inbox) => self.run_inbox_job() || self.run_outside_job(),
            Some(OwnTurn::Oldest) => self.run_one(self.take_oldest_from(from).map(Found::own)),
            None => false,
        }
    }

    /// Runs a job that no worker has queued, of the scopes that the innermost job has opened.
    /// Returns whether there was one.
    pub(super) fn run_outside_job(&self) -> bool {
        self.run_one(self.take_outside_job(OutsideScopes::All).map(Found::own))
    }
}

/// One isolated wait of a worker.
struct IsolatedWait<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
    /// The position at which the jobs of the subtree begin on the worker's deque. If the worker
    /// waits for its innermost scope, it uses the position that the scope keeps instead.
    from: Position,
    isolation: Isolation,
    outside: OutsideScopes,
    /// The job that the last look before a sleep has found.
    found: Option<(JobRef, Theft, Isolation)>,
    /// How many times the worker has searched since it last had a job or was woken.
    rounds: u32,
    state: State,
}

/// What a worker's observer knows about the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Active,
    Idle,
    /// It was woken, and has not searched since.
    Woken,
    /// It was woken, and has found nothing since.
    InVain,
}

impl<P: Platform> IsolatedWait<'_, P> {
    /// Runs a job, if there is one that the worker may run.
    fn run_one(&mut self) -> bool {
        let worker = self.worker;
        if let Some(stolen) = self.found.take() {
            self.run_stolen(stolen);
        } else if !self.run_in_turn() {
            let own = worker.take_job_from(self.from());
            if let Some(job) = own.or_else(|| worker.take_outside_job(self.outside)) {
                self.run_own(job);
            } else if !self.run_inbox_job() {
                match self.steal() {
                    Steal::Success(stolen) => self.run_stolen(stolen),
                    Steal::Empty | Steal::Retry => return false,
                }
            }
        }
        self.rounds = 0;
        true
    }

    /// Runs one of the worker's own jobs other than the newest one, if it is the turn of such a
    /// job: see [`FairLooks`](crate::sources::FairLooks).
    fn run_in_turn(&mut self) -> bool {
        let job = match self.worker.fair_looks.count_own() {
            Some(OwnTurn::Inbox) if self.run_inbox_job() => return true,
            Some(OwnTurn::Inbox) => self.worker.take_outside_job(self.outside),
            Some(OwnTurn::Oldest) => self.worker.take_oldest_from(self.from()),
            None => None,
        };
        job.map(|job| self.run_own(job)).is_some()
    }

    /// Runs a job that was not stolen.
    fn run_own(&mut self, job: JobRef) {
        self.note_active(SearchEnd::Job);
        // SAFETY: 1. the queue gave it to us alone.
        unsafe { self.worker.run(job) };
    }

    /// Runs a job that is for this worker alone, if there is one.
    fn run_inbox_job(&mut self) -> bool {
        let Some(job) = self.worker.take_inbox_job() else {
            return false;
        };
        self.note_active(SearchEnd::Job);
        // SAFETY: 1. the queue gave it to us alone.
        unsafe { self.worker.run_lone_job(job, self.isolation) };
        true
    }

    /// Returns the position at which the jobs of the subtree on the worker's deque begin.
    fn from(&self) -> Position {
        let scope = match self.outside {
            OutsideScopes::Innermost => self.worker.open_scopes.begin_of_innermost(),
            OutsideScopes::None | OutsideScopes::All => None,
        };
        scope.unwrap_or(self.from)
    }

    fn run_stolen(&mut self, (job, theft, isolation): (JobRef, Theft, Isolation)) {
        self.note_active(SearchEnd::Job);
        // Also runs what the job leaves on the deque, because the wait may be over by then.
        //
        // SAFETY: 1. the queue gave it to us alone.
        unsafe { self.worker.run_stolen(job, theft, isolation) };
    }

    /// Steals a job of the subtree. Returns [`Steal::Retry`] if another worker was in the way.
    fn steal(&self) -> Steal<(JobRef, Theft, Isolation)> {
        if self.isolation == Isolation::Nothing {
            return Steal::Empty;
        }
        let (worker, registry) = (self.worker, self.worker.registry());
        P::begin_search(registry);
        worker.observer().observe(Event::Search, P::now);
        let workers = registry.num_workers();
        let first = worker.random.below(workers);
        worker.while_stealing(|| {
            let mut answer = Steal::Empty;
            for step in 0..workers {
                match self.steal_from((first + step) % workers) {
                    Steal::Success(stolen) => return Steal::Success(stolen),
                    Steal::Retry => answer = Steal::Retry,
                    Steal::Empty => {}
                }
            }
            answer
        })
    }

    /// Steals a job of the subtree from the worker `victim`.
    fn steal_from(&self, victim: usize) -> Steal<(JobRef, Theft, Isolation)> {
        let lineage = &self.worker.registry().workers()[victim].lineage;
        let (mut theft, mut descends) = (None, Some(false));
        let stolen = self.worker.steal_if(victim, |position| {
            let job = Theft { victim, position };
            // The job may be more isolated than this wait.
            let isolation = match lineage.isolation_at(position) {
                (of_job, true) => self.isolation.max(of_job),
                (_, false) => self.isolation,
            };
            theft = Some((job, isolation));
            descends = self.worker.descends(job, self.from());
            descends == Some(true)
        });
        match (stolen, theft) {
            (Steal::Success(job), Some((theft, isolation))) => {
                Steal::Success((job, theft, isolation))
            }
            (Steal::Retry, _) => Steal::Retry,
            // The job may belong to the subtree.
            _ if descends.is_none() => Steal::Retry,
            _ => Steal::Empty,
        }
    }

    /// Lets a moment pass, or sleeps until the latch is set or a job is queued that wakes this
    /// worker.
    fn rest(&mut self, latch: &CoreLatch, setter: Setter) {
        self.note_idle();
        if self.rounds < ROUNDS {
            self.rounds += 1;
            self.worker.parker().relax();
        } else {
            self.sleep(latch, setter);
        }
    }

    fn sleep(&mut self, latch: &CoreLatch, setter: Setter) {
        let registry = self.worker.registry();
        registry.note_lone_sleep(true);
        self.worker.leave_to_others();
        if latch.get_sleepy() {
            self.fall_asleep(latch, setter);
            latch.wake_up();
        }
        registry.note_lone_sleep(false);
    }

    /// Parks until this worker is woken, for its latch or for a job, unless the latch is set or
    /// there is such a job already.
    fn fall_asleep(&mut self, latch: &CoreLatch, setter: Setter) {
        let worker = self.worker;
        let lone_sleep = &worker.shared().lone_sleep;
        let is_guest = worker.is_guest();
        let awaits_jobs = self.isolation == Isolation::Subtree;
        lone_sleep.begin(is_guest, awaits_jobs);
        let finds_job = awaits_jobs && self.finds_job_at_last();
        let finds_work = finds_job || worker.holds_operations() || worker.shared().has_lone_jobs();
        if finds_work || !latch.fall_asleep() {
            // A waker that was faster leaves a token, which makes the next park return early.
            lone_sleep.cancel();
            return;
        }
        if self.state == State::InVain {
            worker.observer().observe(Event::FruitlessWake, P::now);
        }
        let _token = Token::release(worker, setter, latch);
        // A handler may have scheduled operations. While this worker sleeps, none else leaves them.
        if worker.holds_operations() {
            lone_sleep.cancel();
            self.state = State::Woken;
            return;
        }
        // Liveness: the thread that sets the latch finds that its waiter sleeps, and so sees this
        // worker's word, which was written before the latch. It resets the word, and then unparks
        // this thread, which finds the word reset. A thread that gives us a job does the same.
        while lone_sleep.lasts() {
            if is_guest {
                worker.parker().park_guest();
            } else {
                worker.parker().park();
            }
        }
        self.state = State::Woken;
        // A thread that woke us for a job may have taken the job back, and may queue another one.
        self.rounds = 0;
    }

    /// Makes the other workers announce their jobs from now on, and searches for the last time.
    /// Called after the fence of a worker that is about to sleep. Returns true if this worker must
    /// not sleep yet.
    fn finds_job_at_last(&mut self) -> bool {
        let worker = self.worker;
        let registry = worker.registry();
        if registry.disable_other_fast_pushes(worker.index()) && registry.has_common_work(None) {
            // A worker that looked before the process fence, and found the fast push disabled,
            // relies on this announcement.
            registry.announce_seen_jobs();
        }
        let end = worker.own().next_position();
        match self.steal() {
            Steal::Success(stolen) => {
                self.found = Some(stolen);
                return true;
            }
            // A job that this search has left there was queued before, and no worker announces it
            // again. The operation that was in the way takes only a moment.
            Steal::Retry => {
                self.rounds = 0;
                return true;
            }
            Steal::Empty => {}
        }
        // The steal lets progress continue, which may call code that queues jobs on this deque.
        worker.own().next_position() != end
    }

    /// Tells the observer that the worker has no job.
    fn note_idle(&mut self) {
        self.state = match self.state {
            State::Idle | State::InVain => return,
            State::Active => State::Idle,
            State::Woken => State::InVain,
        };
        self.worker.observer().observe(Event::Idle, P::now);
    }

    /// Tells the observer that the worker does not search any more.
    fn note_active(&mut self, why: SearchEnd) {
        if self.state != State::Active {
            self.state = State::Active;
            self.worker.observer().observe(Event::Active(why), P::now);
        }
    }
}
