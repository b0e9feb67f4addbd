//! The check of a whole protocol: workers, posters, setters and guests, in every order.

use std::{
    format,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    vec::Vec,
};

use super::{
    ScheduledParker,
    memory::QUEUES,
    schedule::{Actor, Switch},
};
use crate::{
    AwakeSet, LendSeats, NewJobs, Purpose, SleepProtocol, StopLatch, WorkerIndex,
    protocol::full_fence,
};

mod guest;
pub(super) mod scenarios;
mod sources;

use scenarios::Jobs;
use sources::{Sources, awake_sources, own_sources};

/// The queue that all workers take from. Then there is one for each worker.
const SHARED: usize = 0;
const WORKERS: [&str; QUEUES - 1] = ["worker 0", "worker 1"];

/// A pool of at most two workers, whose queues the check plays.
struct Pool<S> {
    sleep: S,
    stop: Vec<StopLatch>,
    /// For a job that waits for another one by the protocol, on the worker with this number.
    awaited: Vec<StopLatch>,
    finished: AtomicUsize,
    /// How many jobs have begun that wait for another one.
    begun: AtomicUsize,
    /// The worker that runs the job which has begun first.
    first: AtomicUsize,
    /// Whether the worker's own thread is in `no_work_found`.
    is_idle: Vec<AtomicBool>,
    /// Whether a guest has the worker's seat.
    is_lent: Vec<AtomicBool>,
    jobs: Jobs,
    /// The queues in which a worker looks for jobs: in a search, as `Some`, or in its last look,
    /// as `None`.
    sources: Sources<S>,
    /// For the thread that waits for jobs.
    done: ScheduledParker,
    /// Whether a job has been taken, and for the thread that waits for it.
    has_taken: AtomicBool,
    taken: ScheduledParker,
    /// For the job that waits for another one.
    partner: ScheduledParker,
    /// Whether an interrupt handler of a worker is to post a job.
    interrupts: AtomicBool,
    /// What a guest waits for that sleeps.
    visit: StopLatch,
}

/// Runs on the thread of an actor.
fn actor<R>(act: impl FnOnce(&Actor) -> R) -> R {
    act(&Actor::current())
}

fn fail(message: &str) -> ! {
    actor(|actor| actor.fail(message))
}

fn note(what: &'static str) {
    actor(|actor| actor.note(what));
}

fn point(what: &'static str) {
    actor(|actor| actor.reach(Switch::Point, what));
}

impl<S: SleepProtocol<Parker = ScheduledParker>> Pool<S> {
    fn new(sleep: S, jobs: Jobs, sources: Sources<S>) -> Self {
        let flags = || {
            (0..sleep.num_workers())
                .map(|_| AtomicBool::new(false))
                .collect()
        };
        let latches = || (0..sleep.num_workers()).map(|_| StopLatch::new()).collect();
        Self {
            stop: latches(),
            awaited: latches(),
            is_idle: flags(),
            is_lent: flags(),
            sleep,
            finished: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            first: AtomicUsize::new(0),
            jobs,
            sources,
            done: ScheduledParker::new(),
            has_taken: AtomicBool::new(false),
            taken: ScheduledParker::new(),
            partner: ScheduledParker::new(),
            interrupts: AtomicBool::new(false),
            visit: StopLatch::new(),
        }
    }

    fn worker(&self, index: usize) -> WorkerIndex {
        match self.sleep.worker(index) {
            Ok(worker) => worker,
            Err(error) => fail(&format!("{error}, which the check asked for")),
        }
    }

    /// Plays a worker from its first search to its stop.
    fn work(&self, index: usize) {
        self.work_until(index, &self.stop[index], Purpose::Job);
    }

    /// Plays a worker until its latch is set.
    fn work_until(&self, index: usize, latch: &StopLatch, purpose: Purpose) {
        let me = self.worker(index);
        let more_work = || {
            let has_more = actor(|actor| actor.memory(|memory, me| memory.is_seen(me, &[SHARED])));
            point("has looked for more work");
            has_more
        };
        let mut idle = self.sleep.start_looking(me, purpose);
        while !latch.probe() {
            let queues = (self.sources)(self, Some(me), index);
            if actor(|actor| actor.memory(|memory, me| memory.take(me, &queues))) {
                self.has_taken.store(true, SeqCst);
                self.taken.notify();
                point("has taken a job");
                self.sleep.work_found(idle, more_work);
                self.run_job(index);
                idle = self.sleep.start_looking(me, purpose);
            } else {
                note("finds no job");
                self.is_idle[index].store(true, SeqCst);
                self.sleep
                    .no_work_found(&mut idle, latch.latch(), || self.has_work(index));
                self.is_idle[index].store(false, SeqCst);
                if self.is_lent[index].load(SeqCst) {
                    fail("`no_work_found` returns while a guest has the worker's seat");
                }
            }
        }
        self.sleep.work_found(idle, more_work);
    }

    /// The last look of a worker.
    fn has_work(&self, index: usize) -> bool {
        let queues = (self.sources)(self, None, index);
        let sees = actor(|actor| actor.memory(|memory, me| memory.is_seen(me, &queues)));
        note(if sees {
            "sees a job in its last look"
        } else {
            "sees no job in its last look"
        });
        self.interrupt();
        sees
    }

    /// Posts a job if an interrupt handler is still to do so.
    fn interrupt(&self) {
        if self.interrupts.swap(false, SeqCst) {
            note("is interrupted by a handler that posts a job");
            self.inject(1);
        }
    }

    fn run_job(&self, worker: usize) {
        if self.sleep.wake_worker(self.worker(worker)) {
            fail("`wake_worker` says that it has woken a worker that runs a job");
        }
        if self.jobs != Jobs::Short {
            // Liveness: the job that begins second gives the token, or sets the latch.
            if self.begun.fetch_add(1, SeqCst).is_multiple_of(2) {
                self.wait_for_second_job(worker);
            } else if self.jobs == Jobs::Wait {
                let first = self.first.load(SeqCst);
                self.awaited[first].set(&self.sleep, self.worker(first));
            } else {
                self.partner.notify();
            }
        }
        self.finished.fetch_add(1, SeqCst);
        self.done.notify();
    }

    /// Runs the job that begins first.
    fn wait_for_second_job(&self, worker: usize) {
        if self.jobs == Jobs::Wait {
            self.first.store(worker, SeqCst);
            return self.work_until(worker, &self.awaited[worker], Purpose::Wait);
        }
        if self.jobs == Jobs::Fork {
            self.fork(worker);
        }
        note("runs a job that waits for another one");
        self.partner.wait();
    }

    /// Queues a job on a worker's own queue, and announces it unless all workers are awake.
    fn fork(&self, worker: usize) {
        let was_empty = self.push(1 + worker);
        full_fence();
        if !self.sleep.all_are_awake() {
            self.sleep.announce(NewJobs::internal(1, || was_empty));
        }
    }

    /// Queues a job. Returns whether the queue was empty.
    fn push(&self, queue: usize) -> bool {
        let was_empty = actor(|actor| actor.memory(|memory, me| memory.push(me, queue)));
        point("has queued a job");
        was_empty
    }

    /// Queues jobs that any worker may run, and announces them at once.
    fn inject(&self, count: usize) {
        let was_empty = (0..count).fold(true, |was_empty, _| self.push(SHARED) && was_empty);
        // Not whether the queue was empty between two jobs of the batch.
        self.sleep
            .announce(NewJobs::injected(count, was_empty || count > 1));
        note("has announced");
    }

    /// Waits until so many jobs have been run in all.
    fn wait_for(&self, jobs: usize) {
        // Liveness: each job gives the token when it has been counted.
        while self.finished.load(SeqCst) < jobs {
            self.done.wait();
        }
    }

    /// Waits until a worker has taken a job, which it may not have told the protocol yet.
    fn wait_until_taken(&self) {
        // Liveness: a worker gives the token when it has taken a job.
        while !self.has_taken.load(SeqCst) {
            self.taken.wait();
        }
    }

    /// Waits until all workers sleep, or do nothing but search, and checks the counts.
    fn rest(&self) {
        actor(|actor| actor.reach(Switch::Rest, "waits until the pool is at rest"));
        let workers = self.sleep.num_workers();
        let parked = actor(Actor::num_parked);
        let (inactive, sleeping) = (self.sleep.num_inactive(), self.sleep.num_sleeping());
        if (inactive, sleeping) != (workers, parked) {
            let message = format!(
                "miscounted: of {workers} workers without work {parked} sleep, but the protocol counts {inactive} \
                 inactive and {sleeping} sleeping"
            );
            fail(&message);
        }
        for index in 0..workers {
            let parker = self.sleep.parker(self.worker(index));
            let token = actor(|actor| actor.awaited_token(index));
            if token.is_some_and(|token| !parker.has_token_at(token)) {
                fail("a worker sleeps on another parker than `parker` returns");
            }
        }
        full_fence();
        if parked > 0 && self.sleep.all_are_awake() {
            fail("miscounted: a worker sleeps, but `all_are_awake` says that none does");
        }
    }

    /// Wakes the only worker of a pool at rest, and waits until it is at rest again.
    fn wake_at_rest(&self) {
        self.rest();
        let sleeps = actor(Actor::num_parked) > 0;
        if self.sleep.wake_worker(self.worker(0)) != sleeps {
            fail("`wake_worker` does not say whether the worker has slept");
        }
        self.rest();
    }

    /// Announces no jobs to a pool at rest.
    fn announce_nothing(&self) {
        let parked = actor(Actor::num_parked);
        self.sleep.announce(NewJobs::injected(0, true));
        self.sleep.announce_for([]);
        if actor(Actor::num_parked) != parked {
            fail("a worker is woken although no jobs are announced");
        }
    }

    fn stop(&self) {
        StopLatch::set_all(&self.stop, &self.sleep);
    }
}

impl<S: AwakeSet<Parker = ScheduledParker>> Pool<S> {
    /// Asks for a worker that holds a job, and says so of the first one.
    fn ask_until_held(&self) {
        let mut offered = 0;
        let is_held = self.sleep.any_awake(None, 0, |_| {
            offered += 1;
            true
        });
        if offered > 1 {
            fail("`any_awake` offers another worker after one that holds a job");
        } else if is_held != (offered == 1) {
            fail("`any_awake` does not say whether a worker holds a job");
        }
    }
}

/// Checks that a protocol keeps what [`SleepProtocol`] promises: that no wake-up is lost, and that
/// workers are counted.
///
/// `make` creates the protocol for as many workers as it is told, one or two, on
/// [`ScheduledParker`]s. Let it use [`IdlePolicy::IMMEDIATE`](crate::IdlePolicy::IMMEDIATE), or
/// other rounds that are few.
///
/// The check plays a thread outside with one worker or two. It runs them in every order of their
/// steps with at most two preemptions, or one if there are two workers. It finds, with a schedule
/// that is the same in each run:
///
/// - a wake-up that is lost, because the last look is missing or comes before the registration, the
///   latch is not looked at or falls asleep before the registration, or a worker that finds work
///   leaves the rest to one that sleeps (promises 1 to 3);
/// - a fence that is missing, or comes too late, if the protocol executes its fences by
///   [`full_fence`]. To this end, the check's queues show each write and read as late as a
///   processor may without a fence, also to `more_work` (promises 1 and 2);
/// - a call that waits for a worker, as in an interrupt handler of that worker, or panics (promise
///   4; not one that allocates);
/// - a worker that is woken although no jobs are announced;
/// - a park that returns without a token, and is taken for a wake-up;
/// - a worker that sleeps on another parker than `parker` returns for it;
/// - workers that are counted wrongly: `num_inactive`, `num_sleeping` and `all_are_awake`;
/// - a wrong answer of `wake_worker`, for a worker of a pool at rest and for one that runs a job.
///
/// It does not reorder the protocol's own atomics. For that, write a model with loom. Nor does it
/// see what they acquire: a protocol whose worker learns of a job by an acquire executes a fence
/// all the same before it calls `more_work`. Protocols that lend seats pass [`check_lending`] too,
/// and those that leave sleepers out [`check_awake_set`].
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Jec, Slot, testing::{ScheduledParker, check_protocol}};
///
/// check_protocol(|workers| {
///     let slots: Box<[_]> = (0..workers).map(|_| Slot::new(ScheduledParker::new())).collect();
///     Jec::<_>::new(slots, IdlePolicy::IMMEDIATE).unwrap()
/// });
/// ```
///
/// # Panics
/// If it finds a mistake, with the schedule that shows it.
pub fn check_protocol<S>(make: impl Fn(usize) -> S)
where
    S: SleepProtocol<Parker = ScheduledParker> + Send + Sync + 'static,
{
    for scenario in scenarios::of_protocol() {
        scenario.run(&make);
    }
}

/// Checks that a protocol keeps what [`LendSeats`] promises, as [`check_protocol`] does: a guest
/// comes to a worker that may sleep, while a job is posted and the worker is stopped.
///
/// It also finds a seat that is lent twice, or by a worker that is not in `no_work_found` or leaves
/// it; a guest that sleeps and is not woken; a sleeper that is offered twice; a borrowed worker
/// that counts as inactive; and a wrong answer of `give_back`.
///
/// # Panics
/// If it finds a mistake, with the schedule that shows it.
pub fn check_lending<S>(make: impl Fn(usize) -> S)
where
    S: LendSeats<Parker = ScheduledParker> + Send + Sync + 'static,
{
    for scenario in scenarios::of_lending() {
        scenario.run(&make);
    }
}

/// Checks that a protocol keeps what [`AwakeSet`] promises, as [`check_protocol`] does: no worker
/// is left out that has a job which another one must take.
///
/// It also finds an `any_awake` that offers the caller, a worker twice, or another worker after one
/// that holds a job, and one whose answer is wrong.
///
/// # Panics
/// If it finds a mistake, with the schedule that shows it.
pub fn check_awake_set<S>(make: impl Fn(usize) -> S)
where
    S: AwakeSet<Parker = ScheduledParker> + Send + Sync + 'static,
{
    for scenario in scenarios::of_awake_set() {
        scenario.run(&make);
    }
}
