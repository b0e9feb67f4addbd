#![doc = include_str!("deadlock/README.md")]

use core::fmt;

use lock_api::Mutex;

use crate::{
    index::WorkerIndex,
    latch::CoreLatch,
    primitive::{Ordering, fence},
};

mod counts;
mod entry;
mod error;
mod report;
#[cfg(test)]
mod tests;

/// The lock that an [`Accounting`] takes, and how its guards may move, in the traits of
/// `lock_api`.
pub use lock_api::{GuardNoSend, GuardSend, RawMutex};

pub use entry::{State, Ticket, WorkerEntry};
pub use error::{NotActive, NotBlocked, TooManyUnblocked};
pub use report::{DeadlockHandler, NoHandler, Report};

use counts::Counts;

/// Knows which workers of a pool are active, asleep or blocked, and calls a handler when none of
/// them can continue.
///
/// `M` is the raw mutex, of the crate `lock_api`. If an interrupt handler unmarks a worker, `M`
/// must disable interrupts while it is held. `W` is where the workers' [entries](WorkerEntry) are
/// stored: anything that is `AsRef<[WorkerEntry]>` and always gives the same slice, such as an
/// array or a box. `H` is the [handler](DeadlockHandler).
///
/// Functions panic if their `worker` has no entry.
///
/// The front page of [this module](crate::deadlock) says which thread calls what, and shows a
/// worker's loop.
///
/// # Examples
/// See the front page of [this module](crate::deadlock).
pub struct Accounting<M, W, H> {
    counts: Mutex<M, Counts>,
    workers: W,
    handler: H,
}

impl<M: RawMutex, W, H> Accounting<M, W, H> {
    /// Creates the accounting of workers that are all absent.
    pub const fn new(workers: W, handler: H) -> Self {
        let counts = Counts {
            active: 0,
            blocked: 0,
            outside: 0,
            resumed: 0,
            reported: false,
        };
        Self {
            counts: Mutex::const_new(M::INIT, counts),
            workers,
            handler,
        }
    }

    /// Returns the handler.
    pub const fn handler(&self) -> &H {
        &self.handler
    }
}

impl<M: RawMutex, W: AsRef<[WorkerEntry]>, H: DeadlockHandler> Accounting<M, W, H> {
    /// Returns the number of workers.
    pub fn num_workers(&self) -> usize {
        self.workers.as_ref().len()
    }

    /// Returns what a worker is doing. The answer may be out of date on return.
    ///
    /// Without a handler, a worker that sleeps counts as active. Takes no lock, so a handler may
    /// call it.
    pub fn state(&self, worker: WorkerIndex) -> State {
        self.entry(worker).state()
    }

    /// Returns the ticket of the section in which a worker is blocked, or `None` if it is not
    /// blocked. The answer may be out of date on return. Takes no lock, so a handler may call
    /// it.
    pub fn ticket(&self, worker: WorkerIndex) -> Option<Ticket> {
        let episode = self.entry(worker).blocked_episode()?;
        Some(Ticket::new(worker, episode))
    }

    fn entry(&self, worker: WorkerIndex) -> &WorkerEntry {
        &self.workers.as_ref()[worker.get()]
    }

    /// Notes that a worker is there, or will be: absent → active. The state of a worker that is not
    /// absent does not change.
    ///
    /// A pool whose threads are being started calls this for all of them before it starts any.
    /// Otherwise the first worker could block while the others are not counted, and be
    /// reported.
    pub fn arrive(&self, worker: WorkerIndex) {
        let mut counts = self.counts.lock();
        let entry = self.entry(worker);
        if entry.state() == State::Absent {
            entry.set_state(State::Active);
            counts.active += 1;
        }
    }

    /// Notes that a worker leaves: it is absent from now on. If the worker is blocked, this ends
    /// its section.
    ///
    /// Like any call that makes a worker inactive, this can complete a deadlock of the others.
    /// `may_run` is that of [`mark_blocked`](Self::mark_blocked).
    pub fn leave(&self, worker: WorkerIndex, may_run: impl Fn(WorkerIndex) -> bool) {
        let mut counts = self.counts.lock();
        let entry = self.entry(worker);
        match entry.state() {
            State::Absent => return,
            State::Active => counts.active -= 1,
            State::Asleep => {}
            State::Blocked => counts.end_own_section(),
        }
        entry.set_state(State::Absent);
        self.check(&mut counts, may_run);
    }

    /// Notes that a worker is about to park: active → asleep.
    ///
    /// Called within the `has_work` of
    /// [`SleepProtocol::no_work_found`](crate::SleepProtocol::no_work_found), after the look at the
    /// queues and only if it found nothing. By then, the protocol has registered the worker, and
    /// parks it next. `latch` is the latch for which the worker waits. If it is already set, its
    /// setter wakes the worker, which stays active. Not called by a worker that waits for an event
    /// from outside the pool: such a worker also stays active.
    ///
    /// `may_run` is that of [`mark_blocked`](Self::mark_blocked).
    pub fn fall_asleep(
        &self,
        worker: WorkerIndex,
        latch: &CoreLatch,
        may_run: impl Fn(WorkerIndex) -> bool,
    ) {
        if !self.handler.is_set() {
            return;
        }
        let mut counts = self.counts.lock();
        let entry = self.entry(worker);
        counts.consume_resumed(entry);
        if entry.state() != State::Active {
            debug_assert!(
                entry.state() != State::Absent,
                "worker {} falls asleep, but has not arrived",
                worker.get()
            );
            return;
        }
        // In this order: a setter of this latch that makes its note before the first step is seen
        // by the second one, and a later note stays.
        entry.clear_waking();
        if latch.probe() {
            return;
        }
        entry.set_state(State::Asleep);
        counts.active -= 1;
        self.check(&mut counts, may_run);
    }

    /// Notes that a worker has returned from its sleep: asleep → active.
    ///
    /// Called by the worker when
    /// [`SleepProtocol::no_work_found`](crate::SleepProtocol::no_work_found) has returned, before
    /// the worker searches.
    pub fn wake_up(&self, worker: WorkerIndex) {
        if !self.handler.is_set() {
            return;
        }
        let mut counts = self.counts.lock();
        let entry = self.entry(worker);
        if entry.state() == State::Asleep {
            entry.set_state(State::Active);
            counts.active += 1;
        }
    }

    /// Notes that the calling thread has set the latch of a worker that sleeps, and is about to
    /// wake it.
    ///
    /// Called between [`CoreLatch::set`], which returned true, and
    /// [`SleepProtocol::wake_worker`](crate::SleepProtocol::wake_worker). From now on, the worker
    /// no longer counts as asleep, even before it runs. Without this, the caller could continue and
    /// block, and be reported, while the worker is being woken.
    ///
    /// Takes no lock, so an interrupt handler may call it.
    #[inline]
    pub fn will_wake(&self, worker: WorkerIndex) {
        if self.handler.is_set() {
            self.entry(worker).set_waking();
            // Ordering: pairs with the fence of `LendSeats::give_back`. If that one comes first,
            // the caller finds the slot of the worker open; if ours does, a guest that gives the
            // worker back sees the note. Nothing weaker orders the note before the caller's look at
            // the slot.
            fence(Ordering::SeqCst);
        }
    }

    /// Whether a caller of [`will_wake`](Self::will_wake) has made its note since the worker has
    /// last fallen asleep. A guest that gives the worker back asks, after the fence of
    /// [`LendSeats::give_back`](crate::LendSeats::give_back), and then wakes the worker's own
    /// thread.
    pub fn is_waking(&self, worker: WorkerIndex) -> bool {
        self.handler.is_set() && self.entry(worker).is_waking()
    }

    /// Marks a worker as blocked: active → blocked. Called by the worker, right before it waits for
    /// an event that the pool does not know about.
    ///
    /// The thread that causes the event [unmarks](Self::mark_unblocked) the worker before it lets
    /// the worker continue. Between the two the worker runs no jobs of the pool; if it does, they
    /// do not count as activity. Jobs that other workers may take from this one have been announced
    /// before the call, by [`announce`](crate::SleepProtocol::announce).
    ///
    /// `may_run` tells whether there is work that a sleeping worker may run: in any queue that all
    /// workers take from, or in one of its own. It returns false for work for which this worker is
    /// not woken, for example because the worker waits only for one event. It is asked with the
    /// lock held, only if no worker is active, and must not call the accounting.
    ///
    /// # Errors
    /// [`NotActive`] if the worker is blocked, asleep or absent.
    pub fn mark_blocked(
        &self,
        worker: WorkerIndex,
        may_run: impl Fn(WorkerIndex) -> bool,
    ) -> Result<Ticket, NotActive> {
        let mut counts = self.counts.lock();
        let entry = self.entry(worker);
        counts.consume_resumed(entry);
        let state = entry.state();
        if state != State::Active {
            let worker = worker.get();
            return Err(NotActive { worker, state });
        }
        counts.active -= 1;
        counts.blocked += 1;
        let ticket = Ticket::new(worker, entry.begin_episode());
        self.check(&mut counts, may_run);
        Ok(ticket)
    }

    /// Ends a blocked section: blocked → active. Called by the thread that resumes the worker,
    /// before the worker can continue.
    ///
    /// A thread that resumes several workers uses [`mark_all_unblocked`](Self::mark_all_unblocked),
    /// or else the first one could block again and be reported before the second one is
    /// unmarked.
    ///
    /// # Errors
    /// [`NotBlocked`] if the section has ended, even if the worker is blocked in a later one.
    pub fn mark_unblocked(&self, ticket: Ticket) -> Result<(), NotBlocked> {
        self.mark_all_unblocked([ticket])
    }

    /// Ends several blocked sections at once, so that no report can come in between.
    ///
    /// The iterator is called with the lock held, so it must not call the accounting.
    ///
    /// # Errors
    /// [`NotBlocked`] for the first ticket whose section has ended. The sections of all other
    /// tickets have ended nevertheless.
    pub fn mark_all_unblocked(
        &self,
        tickets: impl IntoIterator<Item = Ticket>,
    ) -> Result<(), NotBlocked> {
        let mut counts = self.counts.lock();
        let mut result = Ok(());
        for ticket in tickets {
            if self.end_section(ticket).is_ok() {
                counts.end_section();
                counts.active += 1;
            } else if result.is_ok() {
                let worker = ticket.worker().get();
                result = Err(NotBlocked { worker });
            }
        }
        result
    }

    /// Ends the calling worker's own blocked section, when the worker has reached its end. Does
    /// what [`mark_unblocked`](Self::mark_unblocked) does; but if the worker is one of those that
    /// [`mark_any_unblocked`](Self::mark_any_unblocked) has counted, it is not counted twice.
    ///
    /// # Errors
    /// [`NotBlocked`] if another thread has unmarked the worker, as it should.
    pub fn mark_self_unblocked(&self, ticket: Ticket) -> Result<(), NotBlocked> {
        let mut counts = self.counts.lock();
        self.end_section(ticket)?;
        counts.end_own_section();
        counts.active += 1;
        Ok(())
    }

    /// Ends a number of blocked sections without naming the workers.
    ///
    /// For interfaces such as that of rustc's pool, whose resumer does not know the worker. A
    /// blocked worker that shows that it runs, because it sleeps in the pool, marks itself
    /// again or leaves, is one of them. Use either this or tickets for a section, not both.
    ///
    /// # Errors
    /// [`TooManyUnblocked`] if fewer workers are blocked. Then none is unmarked.
    pub fn mark_any_unblocked(&self, count: usize) -> Result<(), TooManyUnblocked> {
        let mut counts = self.counts.lock();
        let blocked = counts.blocked - counts.resumed;
        if count > blocked {
            let requested = count;
            return Err(TooManyUnblocked { requested, blocked });
        }
        // No check passes until the workers have shown that they run, and that resets `reported`.
        counts.resumed += count;
        Ok(())
    }

    /// Notes that a thread outside the pool begins something for whose end workers may wait. There
    /// is no report until [`end_outside`](Self::end_outside).
    ///
    /// Called by a thread whose worker another thread has taken over meanwhile.
    pub fn begin_outside(&self) {
        self.counts.lock().outside += 1;
    }

    /// Notes that what [`begin_outside`](Self::begin_outside) has counted has ended. `may_run` is
    /// that of [`mark_blocked`](Self::mark_blocked).
    pub fn end_outside(&self, may_run: impl Fn(WorkerIndex) -> bool) {
        let mut counts = self.counts.lock();
        debug_assert!(
            counts.outside > 0,
            "more threads outside end than have begun"
        );
        // Never below zero: a wrapped count would prevent all reports.
        counts.outside = counts.outside.saturating_sub(1);
        self.check(&mut counts, may_run);
    }

    /// Makes the worker active if it is blocked in that section.
    fn end_section(&self, ticket: Ticket) -> Result<(), NotBlocked> {
        let entry = self.entry(ticket.worker());
        if entry.state() != State::Blocked || entry.episode() != ticket.episode() {
            let worker = ticket.worker().get();
            return Err(NotBlocked { worker });
        }
        entry.set_state(State::Active);
        Ok(())
    }

    /// Calls the handler if no worker can go on. Called after each step that makes a worker
    /// inactive.
    fn check(&self, counts: &mut Counts, may_run: impl Fn(WorkerIndex) -> bool) {
        if !counts.is_stuck() || counts.reported || !self.handler.is_set() {
            return;
        }
        // Ordering: pairs with the fence of a poster, between its write of a queue and its look for
        // sleepers (`SleepProtocol::announce`, `announce_for`). If the poster's is first, its job
        // is visible to `may_run`. If this one is first, the call that posts has not returned, so
        // the job comes after the report. Nothing weaker makes an earlier job visible: a poster
        // does not take the lock.
        fence(Ordering::SeqCst);
        let workers = self.workers.as_ref();
        let can_go_on = workers.iter().enumerate().any(|(index, entry)| {
            let worker = WorkerIndex::new(index, workers.len()).expect("counted");
            entry.state() == State::Asleep && (entry.is_waking() || may_run(worker))
        });
        if !can_go_on {
            counts.reported = true;
            self.handler.handle(&Report::new(workers));
        }
    }
}

impl<M: RawMutex, W: AsRef<[WorkerEntry]>, H> fmt::Debug for Accounting<M, W, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Accounting");
        // A handler that prints its accounting must not wait for itself.
        if let Some(counts) = self.counts.try_lock() {
            debug.field("counts", &*counts);
        }
        debug.field("workers", &self.workers.as_ref());
        debug.finish_non_exhaustive()
    }
}
