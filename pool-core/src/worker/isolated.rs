//! How a worker waits that may not run any job of the pool, see [`Isolation`].
//!
//! Such a worker counts as active all the time, as one in a long job does. So no poster relies on
//! it, and the sleep protocol does not know that it waits. How it sleeps, and what wakes it, is in
//! [`lone_sleep`](super::lone_sleep).

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

/// How often a worker searches before it sleeps. Between two searches it relaxes, which takes from
/// some ten nanoseconds to a time slice. A worker is woken in some microseconds.
const ROUNDS: u32 = if cfg!(loom) { 1 } else { 64 };

impl<P: Platform> WorkerThread<P> {
    /// Whether this worker can leave the jobs alone that are on its deque.
    pub(super) fn can_isolate(&self) -> bool {
        self.own().deque().order() == Order::Lifo
    }

    /// Waits until the latch is set, and runs only jobs that descend from those that this worker
    /// has pushed from a position on.
    #[cold]
    pub(super) fn wait_isolated(&self, latch: &CoreLatch, awaited: Awaited, setter: Setter) {
        // The frame that waits holds jobs, or the latch.
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

    /// Lets other workers run what this one has, and does not run because it is isolated.
    fn leave_to_others(&self) {
        let registry = self.registry();
        // It will answer no thief while it sleeps.
        self.own().end_bias();
        let mut has_work = self.leave_operations() || self.has_pending_jobs();
        if P::parallelism(registry) < registry.num_workers() {
            // One worker less is awake than others have counted on.
            registry.reconsider_wakes();
            has_work |= self.has_work_for_others();
        }
        if has_work {
            // As if it were posted now by a thread that will not run it.
            registry.announce_jobs(1, false);
        }
    }

    /// Takes a job that no worker has queued, of these of the scopes that the innermost job has
    /// opened.
    pub(super) fn take_outside_job(&self, scopes: OutsideScopes) -> Option<JobRef> {
        self.shared().lone_sleep().answer_call();
        let is_looked_at = match scopes {
            OutsideScopes::None => 0,
            OutsideScopes::Innermost => 1,
            OutsideScopes::All => usize::MAX,
        };
        self.open_scopes.find_job(is_looked_at, self.depth())
    }

    /// Calls a closure in which a scope is open whose wait, for these jobs, is isolated.
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

        // The scope may have ended without a wait, by other workers. A call that is left would say
        // that there is work for this worker. The waits for outer scopes look before they sleep.
        let _answer = AnswerAtEnd(self.shared().lone_sleep());
        self.open_scopes
            .while_open(take, awaited.from, self.depth(), closure)
    }

    /// Runs a job of this worker's deque that was pushed from a position on, or
    /// [another one](Self::run_isolated_in_turn) in its turn. Returns whether there was one.
    pub(super) fn run_isolated_job(&self, from: Position) -> bool {
        let is_run = self.run_isolated_in_turn(from);
        is_run || self.run_one(self.take_job_from(from).map(Found::own))
    }

    /// Runs a job of this worker's own that is not the newest one, if it is the turn of such a job:
    /// one that is on no deque, or the oldest that was pushed from a position on. Returns whether
    /// there was one. See [`FairLooks`](crate::sources::FairLooks).
    pub(super) fn run_isolated_in_turn(&self, from: Position) -> bool {
        match self.fair_looks().count_own() {
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

    /// Takes the newest job of this worker's deque if it was pushed from a position on. It may be
    /// older than a scope that is open.
    pub(crate) fn take_job_from(&self, from: Position) -> Option<JobRef> {
        if !self.has_pending_jobs() || self.own().next_position() == from {
            return None;
        }
        let job = self.own().pop()?;
        // SAFETY: 1. jobs come into this deque by us alone, and it was popped just now.
        unsafe { job.popped_by_owner() };
        // Before the job runs, which may push.
        self.open_scopes.lower_begins(self.own().next_position());
        Some(job)
    }
}

/// One isolated wait of a worker.
struct IsolatedWait<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
    /// The jobs of the subtree that are on the worker's deque begin here, unless it waits for its
    /// innermost scope, which knows.
    from: Position,
    isolation: Isolation,
    outside: OutsideScopes,
    /// What its last look before it sleeps has found.
    found: Option<(JobRef, Theft, Isolation)>,
    /// How often it has searched since it last had a job.
    rounds: u32,
    state: State,
}

/// What the observer of a worker knows.
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

    /// Runs a job of the worker's own that is not the newest one, if it is the turn of such a job:
    /// see [`FairLooks`](crate::sources::FairLooks).
    fn run_in_turn(&mut self) -> bool {
        let job = match self.worker.fair_looks().count_own() {
            Some(OwnTurn::Inbox) if self.run_inbox_job() => return true,
            Some(OwnTurn::Inbox) => self.worker.take_outside_job(self.outside),
            Some(OwnTurn::Oldest) => self.worker.take_oldest_from(self.from()),
            None => None,
        };
        job.map(|job| self.run_own(job)).is_some()
    }

    /// Runs a job that comes from no other worker.
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
        // With what it leaves on the deque: the wait may be over after it.
        //
        // SAFETY: 1. the queue gave it to us alone.
        unsafe { self.worker.run_stolen(job, theft, isolation) };
    }

    /// Steals a job of the subtree. Returns [`Steal::Retry`] if another worker was in the way.
    fn steal(&self) -> Steal<(JobRef, Theft, Isolation)> {
        if self.isolation == Isolation::Nothing {
            return Steal::Empty;
        }
        let worker = self.worker;
        worker.observer().observe(Event::Search, P::now);
        let workers = worker.registry().num_workers();
        let first = worker.random().below(workers);
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

    /// Steals a job of the subtree from this worker.
    fn steal_from(&self, victim: usize) -> Steal<(JobRef, Theft, Isolation)> {
        let lineage = self.worker.registry().workers()[victim].lineage();
        let (mut theft, mut descends) = (None, Some(false));
        let stolen = self.worker.steal_if(victim, |position| {
            let job = Theft { victim, position };
            // The job may be isolated more than this wait.
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
            // It may be of the subtree.
            _ if descends.is_none() => Steal::Retry,
            _ => Steal::Empty,
        }
    }

    /// Lets a moment pass, or sleeps until the latch is set or there is a job for this worker
    /// alone.
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

    /// Parks until the latch is set or there is a job for this worker alone, unless that is so
    /// already.
    fn fall_asleep(&mut self, latch: &CoreLatch, setter: Setter) {
        let worker = self.worker;
        let lone_sleep = worker.shared().lone_sleep();
        let is_guest = worker.is_guest();
        let awaits_jobs = self.isolation == Isolation::Subtree;
        lone_sleep.begin(is_guest, awaits_jobs);
        let finds_job = awaits_jobs && self.finds_job_at_last();
        if finds_job || worker.shared().has_lone_jobs() || !latch.fall_asleep() {
            // A waker that was faster leaves a token, with which the next park returns early.
            lone_sleep.cancel();
            return;
        }
        if self.state == State::InVain {
            worker.observer().observe(Event::FruitlessWake, P::now);
        }
        let _token = Token::release(worker, setter, latch);
        // Liveness: the thread that sets the latch finds that its waiter sleeps, and so this
        // worker's word, which was written before the latch. It resets the word, and then unparks
        // this thread, which finds it reset. A thread that gives it a job does likewise.
        while lone_sleep.lasts() {
            if is_guest {
                worker.parker().park_guest();
            } else {
                worker.parker().park();
            }
        }
        self.state = State::Woken;
        // A thread that has woken us for a job may have taken it back, and queue the next one.
        self.rounds = 0;
    }

    /// Lets the other workers announce their jobs from now on, and searches for the last time,
    /// after the fence of a worker that is about to sleep.
    fn finds_job_at_last(&mut self) -> bool {
        let worker = self.worker;
        let registry = worker.registry();
        if registry.disable_other_fast_pushes(worker.index()) && registry.has_common_work(None) {
            // A worker that looked before the process fence, and found the fast push disabled,
            // relies on this.
            registry.announce_seen_jobs();
        }
        let end = worker.own().next_position();
        match self.steal() {
            Steal::Success(stolen) => {
                self.found = Some(stolen);
                return true;
            }
            // A job that is left there was queued before, and no one announces it again. What was
            // in the way takes a moment.
            Steal::Retry => {
                self.rounds = 0;
                return true;
            }
            Steal::Empty => {}
        }
        // The steal lets progress go on, which may call code that queues jobs here.
        worker.own().next_position() != end || worker.holds_operations()
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
