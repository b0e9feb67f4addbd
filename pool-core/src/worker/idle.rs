//! How a worker that has found no job searches, sleeps and wakes up.
//!
//! This is the only loop of a pool that calls [`IdleSession`]. It is a state machine:
//!
//! | from | to | by | what happens |
//! | --- | --- | --- | --- |
//! | active | searching | [`Idle::begin`] | The worker counts as idle: posters rely on it |
//! | searching, woken | active | [`Idle::end`] | It has a job or operation, or its latch is set |
//! | woken | searching | [`Idle::look`] | Its first search since it was woken was fruitless |
//! | searching | sleepy | [`Idle::rest`] | The protocol decides whether it relaxes or sleeps |
//! | sleepy | searching | the protocol returns | It has relaxed |
//! | sleepy | registered | the protocol calls [`Idle::last_look`] | It is registered as a sleeper |
//! | registered | searching | [`Idle::turn_back`] | The last look has seen work |
//! | registered | parked | [`Token::release`] | The last look has seen none. It counts as asleep |
//! | parked | lent | [`VacantSeat::leave`] | At top level of a pool that has guests |
//! | lent | parked | drop of [`VacantSeat`] | No guest is the worker any more |
//! | parked | woken | drop of [`Token`] | The worker counts as awake, and its thread may run |
//!
//! A worker that ends its search wakes others for what it leaves. From the state sleepy on, others
//! may leave out its deque: see [`LeftOut`]. While the worker is parked, another thread may run
//! instead of its own, see [`Token`]; while it is lent, a guest may be the worker.
//!
//! The protocol may skip the states sleepy and registered, and asks for the last look at most once
//! in each call.
//!
//! # What memory safety rests on
//!
//! While the seat is vacant, another thread may use the `WorkerThread`. From [`VacantSeat::leave`]
//! to its drop this file touches nothing of the worker but its shared half, its registry and its
//! number, which never change. [`Idle::rest`] drops the guards in the order that this needs: the
//! seat, then [`LeftOut`], which writes to the worker, then the token. A panic of the protocol, or
//! of what it calls, drops them too, the seat first; then `WorkerThread::run_jobs_until` ends the
//! process.

use core::{mem, ptr};

use progress_core::DueOperation;
use sleep_core::{CoreLatch, Hint, Parker as _, Purpose, WorkerIndex};

use crate::{
    deadlock::DeadlockDetection as _,
    metrics::{Event, Observer as _, SearchEnd},
    platform::Platform,
    registry::sleep::IdleSession,
    sources::LastLook,
    unwind::no_unwind,
    worker::{WorkerThread, lineage::Found},
};

/// Which thread will set the latch that the worker waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setter {
    /// A worker of the same pool.
    Worker,
    /// Any other thread.
    Outside,
    /// Any thread, which requests the worker to stop. The worker waits at top level, outside any
    /// job.
    Stop,
}

/// A worker that searches: from the moment when it has no job until it is active again.
struct Idle<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
    setter: Setter,
    session: IdleSession<'w, P>,
    slept: Slept,
    /// Where it looks first.
    hint: Hint,
}

/// Whether the worker has slept since it began to search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slept {
    /// It has not.
    Not,
    /// It was woken, and has not searched since.
    Woken,
    /// It was woken, and has found nothing since.
    InVain,
}

/// Why a worker stops searching.
enum End {
    Job(Found),
    LatchIsSet,
    /// An operation of thread progress is due. Up to this many more may be run after it.
    Due(DueOperation, usize),
}

impl End {
    fn reason(&self) -> SearchEnd {
        match self {
            Self::Job(_) => SearchEnd::Job,
            Self::LatchIsSet => SearchEnd::Latch,
            Self::Due(..) => SearchEnd::Operation,
        }
    }
}

/// The outcome of a call of the protocol.
enum Rest<'w, P: Platform> {
    /// The worker was not asked for a last look.
    Relaxed,
    TurnedBack(LastLook),
    Slept {
        /// First, so that it is dropped first.
        seat: Option<VacantSeat<'w, P>>,
        token: Token<'w, P>,
    },
}

impl<P: Platform> WorkerThread<P> {
    /// Searches everywhere until there is a job, or until the latch is set (`None`).
    pub(super) fn search(&self, latch: &CoreLatch, setter: Setter) -> Option<Found> {
        // This worker has just found its own deque empty. A look at others since lets progress
        // continue, which may call code that queues jobs there.
        if !self.has_pending_jobs() {
            self.shared().forget_jobs();
        }
        let mut has_run_operations = false;
        let found = loop {
            let mut idle = Idle::begin(self, setter);
            let end = idle.search(latch);
            idle.end(end.reason());
            match end {
                End::Job(found) => break Some(found),
                End::LatchIsSet => break None,
                // The operation may take as long as a job, and may wait for one. So the worker is
                // active meanwhile: a poster must not count on a worker that runs an operation.
                End::Due(operation, more) => {
                    self.run_operation(operation);
                    self.run_operations(more);
                    has_run_operations = true;
                }
            }
        };
        if has_run_operations {
            self.leave_due();
        }
        found
    }

    /// Returns this worker, unless it is registered as a sleeper, which means that its own parker
    /// searches.
    pub(crate) fn awake_index(&self) -> Option<WorkerIndex> {
        (!self.may_be_left_out.get()).then_some(self.index())
    }
}

impl<'w, P: Platform> Idle<'w, P> {
    /// Begins a search. If a worker of this pool sets the latch, it is running the job that this
    /// worker waits for, which will probably end soon. Any other thread may take any amount of
    /// time.
    fn begin(worker: &'w WorkerThread<P>, setter: Setter) -> Self {
        worker.observer().observe(Event::Idle, P::now);
        let purpose = match setter {
            Setter::Worker => Purpose::Wait,
            Setter::Outside | Setter::Stop => Purpose::Job,
        };
        Self {
            worker,
            setter,
            session: worker.registry().begin_idle(worker.index(), purpose),
            slept: Slept::Not,
            hint: Hint::Unknown,
        }
    }

    /// Ends the search.
    fn end(self, why: SearchEnd) {
        let worker = self.worker;
        self.session.end(|| worker.has_work_to_pass_on());
        worker.observer().observe(Event::Active(why), P::now);
    }

    /// Searches and sleeps until there is a reason to end.
    fn search(&mut self, latch: &CoreLatch) -> End {
        // Liveness: the thread that sets the latch, or posts a job, ends a sleep; see `rest`.
        while !latch.probe() {
            if let Some(found) = self.look() {
                return End::Job(found);
            }
            let limit = self.worker.make_progress();
            let due = (limit > 0).then(|| self.worker.take_operation()).flatten();
            if let Some(operation) = due {
                return End::Due(operation, limit - 1);
            }
            // Thread progress may just have called code that queued jobs on this deque. Once this
            // worker is registered as a sleeper, others would not find them.
            if !self.worker.has_pending_jobs() {
                self.rest(latch);
            }
        }
        End::LatchIsSet
    }

    /// Looks at all sources once.
    fn look(&mut self) -> Option<Found> {
        let worker = self.worker;
        let job = match mem::take(&mut self.hint) {
            Hint::Unknown => worker.find_work(),
            hint => worker.find_work_at(hint),
        };
        if job.is_none() && self.slept == Slept::Woken {
            self.slept = Slept::InVain;
            worker.observer().observe(Event::Idle, P::now);
        }
        job
    }

    /// Reports a fruitless search to the protocol, which may send the worker to sleep.
    fn rest(&mut self, latch: &CoreLatch) {
        let (worker, setter, slept) = (self.worker, self.setter, self.slept);
        // Before the worker may register as a sleeper.
        let left_out = LeftOut::begin(worker);
        let mut rest = Rest::Relaxed;
        self.hint = self.session.no_work_found(latch, || {
            rest = Self::last_look(worker, setter, slept, latch);
            matches!(rest, Rest::TurnedBack(_))
        });
        match rest {
            Rest::Relaxed => drop(left_out),
            Rest::TurnedBack(look) => {
                drop(left_out);
                self.turn_back(look);
            }
            Rest::Slept { seat, token } => {
                drop(seat);
                drop(left_out);
                drop(token);
                self.slept = Slept::Woken;
            }
        }
    }

    /// Looks at all sources for a worker that is registered as a sleeper. If there is no work, the
    /// next thing that the worker does is to park.
    fn last_look(
        worker: &'w WorkerThread<P>,
        setter: Setter,
        slept: Slept,
        latch: &CoreLatch,
    ) -> Rest<'w, P> {
        let look = worker.check_sources_before_sleep();
        if look.has_work {
            return Rest::TurnedBack(look);
        }
        if slept == Slept::InVain {
            worker.observer().observe(Event::FruitlessWake, P::now);
        }
        let token = Token::release(worker, setter, latch);
        // Last: from here on a guest may be the worker.
        let seat = match setter {
            Setter::Stop => VacantSeat::leave(worker),
            Setter::Worker | Setter::Outside => None,
        };
        Rest::Slept { seat, token }
    }

    /// Continues after a last look that has seen work, when the worker is no longer registered.
    fn turn_back(&mut self, look: LastLook) {
        self.worker.observer().observe(Event::TurnedBack, P::now);
        if look.must_announce {
            // Each worker that sleeps may have looked before our process fence, and may not have
            // seen what was pushed before it.
            self.worker.registry().announce_seen_jobs();
        }
        if look.holds_operations {
            self.worker.leave_operations();
        }
    }
}

/// A worker that may be registered as a sleeper: others may leave out its deque, which is empty,
/// when they search. Its fast push is disabled, so that the worker announces its next job. If its
/// own parker queues that job, the worker also wakes itself.
struct LeftOut<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
    /// Whether the worker was registered already, which means that its parker searches.
    was_left_out: bool,
}

impl<'w, P: Platform> LeftOut<'w, P> {
    fn begin(worker: &'w WorkerThread<P>) -> Self {
        debug_assert!(
            !worker.has_pending_jobs(),
            "others would not find these jobs"
        );
        worker.shared().deque.disable_fast_push();
        let was_left_out = worker.may_be_left_out.replace(true);
        Self {
            worker,
            was_left_out,
        }
    }
}

impl<P: Platform> Drop for LeftOut<'_, P> {
    fn drop(&mut self) {
        self.worker.may_be_left_out.set(self.was_left_out);
    }
}

/// A worker that counts as asleep: for its observer, for the detection of deadlocks, and for a
/// limit on running threads, to which it has given back its token. Takes the token again when this
/// is dropped.
pub(super) struct Token<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
}

impl<'w, P: Platform> Token<'w, P> {
    /// Gives the token back, for a worker that is about to park.
    pub(super) fn release(worker: &'w WorkerThread<P>, setter: Setter, latch: &CoreLatch) -> Self {
        worker.observer().observe(Event::Sleep, P::now);
        if setter != Setter::Outside {
            worker.note_sleep(latch);
        }
        P::release_thread(worker.registry());
        Self { worker }
    }
}

impl<P: Platform> Drop for Token<'_, P> {
    fn drop(&mut self) {
        let worker = self.worker;
        worker.registry().deadlock().wake_up(worker.index());
        P::acquire_thread(worker.registry());
        let woken_by = P::woken_by(worker.parker());
        worker.observer().observe(Event::Wake(woken_by), P::now);
    }
}

/// The seat of a worker whose own thread sleeps at top level. While this lives, the thread must not
/// use the worker. The caller of the loop has promised the same for the frames below it.
///
/// Dropping it takes the seat back.
struct VacantSeat<'w, P: Platform> {
    worker: &'w WorkerThread<P>,
}

impl<'w, P: Platform> VacantSeat<'w, P> {
    /// Leaves the worker to guests, if the pool has guests. Does nothing if this thread is a guest
    /// itself, because frames further down its stack use the worker.
    fn leave(worker: &'w WorkerThread<P>) -> Option<Self> {
        if !P::has_guests(worker.registry()) || worker.is_guest() {
            return None;
        }
        // The parker, or the protocol, may call functions of the pool on this thread.
        //
        // SAFETY: 1. the pointer is null.
        unsafe { P::set_current(ptr::null()) };
        // A guest is awake when it comes.
        worker.may_be_left_out.set(false);
        worker.shared().seat.vacate(worker);
        Some(Self { worker })
    }
}

impl<P: Platform> Drop for VacantSeat<'_, P> {
    fn drop(&mut self) {
        let worker = self.worker;
        // While a guest is the worker, we read only what never changes.
        let seat = &worker.shared().seat;
        // Liveness: a guest vacates the seat when its closure ends, without waiting for this
        // thread. It does so before it lets the protocol wake this thread, so a protocol that keeps
        // its promises makes this loop end at once. A guest that comes in between does the same.
        while !seat.reclaim(worker) {
            // A panic would go on with the other guards, while a guest is the worker.
            no_unwind(|| worker.parker().relax());
        }
        // SAFETY: 1. it was the thread's worker until `VacantSeat::leave`, and stays in place until
        // `WorkerThread::leave`.
        unsafe { P::set_current(worker) };
    }
}
