//! Managed threads: those whose progress is counted.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::{cell::Cell, fmt, marker::PhantomData};

use sleep_core::Parker;
use sleep_primitives::{RawWord, full_fence};

#[cfg(feature = "alloc")]
use crate::Operation;
use crate::{
    Domain, Moment, Progress,
    batch::Batch,
    due::DueOperation,
    moment::{WAITING, is_reached, next},
    operation::{IntoOperation, Queue},
    participant::Participant,
    registration::Registration,
};

/// All participant slots of an instance are taken.
#[doc(alias = "NoFreeLine")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyParticipants {
    /// The number of slots.
    pub capacity: usize,
}

impl fmt::Display for TooManyParticipants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no free participant slot (capacity: {})", self.capacity)
    }
}

impl core::error::Error for TooManyParticipants {}

impl<D: Domain> Progress<D> {
    /// Makes this thread a managed one, which waits until it is [activated].
    ///
    /// # Errors
    /// [`TooManyParticipants`] if all lines are taken, by managed threads and [readers](crate::Reader).
    ///
    /// [activated]: ManagedThread::activate
    pub fn register(&self) -> Result<ManagedThread<'_, D>, TooManyParticipants> {
        let index = self.take_participant(Participant::take)?;
        Ok(ManagedThread {
            registration: Registration {
                progress: self,
                participant: &self.participants()[index],
            },
            index,
            leads: false,
            blocks: 0,
            pins: Cell::new(0),
            recent: Batch::new(),
            operations: Queue::new(),
            ready: Queue::new(),
            not_send: PhantomData,
        })
    }

    /// Takes a line that nobody has; its number.
    pub(crate) fn take_participant(
        &self,
        take: fn(&Participant<D::Parker>) -> bool,
    ) -> Result<usize, TooManyParticipants> {
        let participants = self.participants();
        let free = participants.iter().position(take);
        free.ok_or(TooManyParticipants {
            capacity: participants.len(),
        })
    }
}

/// A managed thread. From [`Progress::register`].
///
/// It waits, and holds nothing up, but while it is [active](Self::activate). Only then may it read
/// what is freed by progress.
pub struct ManagedThread<'p, D: Domain> {
    pub(crate) registration: Registration<'p, D>,
    pub(crate) index: usize,
    leads: bool,
    /// How often the others are blocked.
    pub(crate) blocks: usize,
    /// How many guards of [`pin`](Self::pin) live, or were forgotten.
    pub(crate) pins: Cell<usize>,
    /// Operations without a value.
    recent: Batch,
    pub(crate) operations: Queue,
    /// Operations that belonged to no thread, and whose values are reached.
    pub(crate) ready: Queue,
    /// The line is this thread's.
    not_send: PhantomData<*mut ()>,
}

impl<'p, D: Domain> ManagedThread<'p, D> {
    /// The instance that it is a thread of.
    #[inline]
    #[must_use]
    pub fn progress(&self) -> &'p Progress<D> {
        self.registration.progress
    }

    /// The thread may read from now on, until the guard is dropped. It should call
    /// [`Active::update`] often, or drop the guard.
    ///
    /// Waits if another thread blocks.
    #[inline]
    pub fn activate(&mut self) -> Active<'_, 'p, D> {
        let registration = self.registration;
        // Only if a guard was forgotten.
        if self.leads {
            self.return_leadership();
        }
        // As well: that no guard lives, the exclusive reference says.
        self.pins.set(0);
        self.enter();
        Active {
            has_updated: false,
            thread: self,
            registration,
        }
    }

    /// Has an operation run by this thread when all threads have made progress: by
    /// [`run_reached`](Self::run_reached), [`Active::tick`] or [`wait`](Self::wait). If this
    /// thread goes before, or [leaves it to others](Self::leave_operations), another one runs it, or
    /// the drop of the instance does.
    ///
    /// Operations are counted from the next such call, or together when there are 32 of them: one
    /// fence for all.
    ///
    /// Takes a `&'static mut` `Operation` or, with the feature `alloc`, a box with one.
    pub fn schedule(&mut self, operation: impl IntoOperation) {
        if self.recent.is_full() {
            self.seal();
        }
        self.recent.push(operation.into_header());
    }

    /// As [`schedule`](Self::schedule), of a closure that is put in a box.
    #[cfg(feature = "alloc")]
    pub fn defer(&mut self, closure: impl FnOnce() + Send + 'static) {
        self.schedule(Box::new(Operation::new(closure)));
    }

    /// How many operations this thread has scheduled and not run yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.recent.len() + self.operations.len() + self.ready.len()
    }

    /// Whether there are operations that this thread should see to: its own, or some that belong to
    /// no thread and are due. Then it should [tick](Active::tick) or [wait](Self::wait) now and
    /// then.
    #[must_use]
    pub fn has_operations(&self) -> bool {
        self.pending() > 0 || self.progress().has_due()
    }

    /// Runs the operations whose time has come, at most 50 and a half of those pending, so that a
    /// backlog shrinks. Returns how many.
    pub fn run_reached(&mut self) -> usize {
        (0..self.run_limit())
            .map_while(|_| self.take_due().map(DueOperation::run))
            .count()
    }

    /// Parks until this thread's first operation may be run, or its parker is unparked; runs what
    /// may be run. Returns how many operations. With nothing [pending](Self::pending) it returns at
    /// once.
    pub fn wait(&mut self) -> usize {
        let count = self.run_reached();
        let Some(value) = self.operations.first_value().filter(|_| count == 0) else {
            return count;
        };
        self.request_wakeup_at(value);
        let count = self.run_reached();
        if count > 0 {
            return count;
        }
        // Liveness: the leader that comes to the wanted value takes the wish and unparks; the
        // token stays until we park. Some thread comes there: see `request_wakeup`.
        self.participant().parker().park();
        self.run_reached()
    }

    /// Parks until all threads have made progress to this moment.
    ///
    /// # Panics
    /// If the value is another instance's.
    pub fn wait_for(&mut self, moment: Moment<'_>) {
        let raw = self.progress().raw(moment);
        while !is_reached(self.progress().current(), raw) {
            self.request_wakeup_at(raw);
            if !is_reached(self.progress().current(), raw) {
                // Liveness: as in `wait`.
                self.participant().parker().park();
            }
        }
    }

    /// Unparks this thread's parker when all threads have made progress to this moment: request,
    /// go on, and be woken later. At once if the moment is reached. A thread may ask for several
    /// moments, and is woken for each; asking for the same one again changes nothing.
    ///
    /// # Panics
    /// If the value is another instance's.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    /// use progress_core::{Participant, Progress};
    /// use sleep_core::Parker;
    ///
    /// struct Flag(AtomicBool);
    /// impl Parker for Flag {
    ///     fn park(&self) {}
    ///     fn unpark(&self) {
    ///         self.0.store(true, SeqCst);
    ///     }
    /// }
    ///
    /// let progress: Progress<(Flag, _)> = Progress::new([Participant::new(Flag(false.into()))]);
    /// let thread = progress.register()?;
    /// let reading = progress.delay();
    /// thread.wakeup(progress.later());
    /// // ... other work ...
    /// let is_woken = || progress.participants()[0].parker().0.load(SeqCst);
    /// assert!(!is_woken());
    /// drop(reading);
    /// assert!(is_woken());
    /// # Ok::<(), progress_core::TooManyParticipants>(())
    /// ```
    pub fn wakeup(&self, moment: Moment<'_>) {
        let value = self.progress().raw(moment);
        if is_reached(self.progress().current(), value) {
            self.participant().parker().unpark();
        } else {
            self.request_wakeup_at(value);
        }
    }

    /// Has this thread's parker unparked at a value, and makes progress to it if nothing stands in
    /// the way.
    fn request_wakeup_at(&self, value: RawWord) {
        let progress = self.progress();
        let mut is_told = self.participant().set_wanted(value, progress.current());
        progress.request_wakeup();
        // The leader that came to the value has seen the wish, unless it came there before the wish
        // was published.
        is_told |= self.participant().take_reached(progress.current());
        if is_told {
            self.participant().parker().unpark();
        }
    }

    #[inline]
    pub(crate) fn participant(&self) -> &'p Participant<D::Parker> {
        self.registration.participant
    }

    /// What the line holds.
    #[inline]
    pub(crate) fn confirmed(&self) -> RawWord {
        self.participant().confirmed()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.confirmed() != WAITING
    }

    /// From waiting to active.
    #[inline]
    pub(crate) fn enter(&self) {
        let registration = self.registration;
        let current = registration.progress.current();
        registration.confirm(next(current));
        if !registration.progress.state().is_quiet_at(current) {
            self.enter_again();
        }
    }

    /// Goes on with entering, when something has changed meanwhile.
    #[cold]
    fn enter_again(&self) {
        loop {
            if self.progress().state().is_blocked() && self.blocks == 0 {
                // A thread that enters does not lead.
                self.registration.leave();
                self.wait_while_blocked();
            }
            let current = self.progress().current();
            self.registration.confirm(next(current));
            let state = self.progress().state();
            if state.value() == current && (!state.is_blocked() || self.blocks > 0) {
                return;
            }
        }
    }

    /// From active to waiting.
    #[inline]
    pub(crate) fn leave(&mut self) {
        if self.leads {
            self.return_leadership();
        }
        self.registration.leave();
    }

    #[cold]
    fn return_leadership(&mut self) {
        self.leads = false;
        self.progress().stop_leading();
    }

    /// Gives the operations without a value one.
    pub(crate) fn seal(&mut self) {
        if self.recent.len() == 0 {
            return;
        }
        let value = self.progress().later().raw;
        for operation in self.recent.drain() {
            self.operations.push(operation, value);
        }
    }

    /// Leaves this thread's operations to others, and makes progress for them: when they are due,
    /// each is run by the thread that next runs what is due, as
    /// [`Progress::run_reached`] does. For a thread that does something else for long, such as
    /// sleep for another reason than progress.
    ///
    /// Progress is made by this thread, unless something stands in the way; then by whichever
    /// thread is the last to cease standing there. That thread finds what is
    /// [due](Progress::has_due).
    pub fn leave_operations(&mut self) {
        self.seal();
        let unowned = &self.progress().unowned;
        unowned.push_due(&mut self.ready);
        if let Some(first) = self.operations.first_value() {
            unowned.push_pending(&mut self.operations);
            self.progress().request_unowned(first);
        }
    }

    /// Takes over the operations that belong to no thread and are due.
    pub(crate) fn adopt_due(&mut self) {
        for operation in self.progress().unowned.take_due() {
            self.ready.push(operation, 0);
        }
    }
}

impl<D: Domain> Drop for ManagedThread<'_, D> {
    fn drop(&mut self) {
        // Only if a guard was forgotten.
        if self.is_active() {
            self.leave();
        }
        if self.blocks > 0 {
            self.blocks = 1;
            self.stop_blocking();
        }
        self.participant().clear_wanted();
        self.leave_operations();
        self.participant().give_back();
    }
}

impl<D: Domain> fmt::Debug for ManagedThread<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagedThread")
            .field("index", &self.index)
            .field("line", self.participant())
            .field("leads", &self.leads)
            .field("pending", &self.pending())
            .finish()
    }
}

/// The thread may read, and holds up progress unless it [updates](Self::update). From
/// [`ManagedThread::activate`].
///
/// References to what is freed by progress should borrow from this guard: then the compiler sees
/// that none is held across an update.
pub struct Active<'t, 'p, D: Domain> {
    pub(crate) thread: &'t mut ManagedThread<'p, D>,
    pub(crate) registration: Registration<'p, D>,
    /// Only then may the thread lead.
    pub(crate) has_updated: bool,
}

impl<'p, D: Domain> Active<'_, 'p, D> {
    /// As [`Progress::later`], without reading what other threads write.
    #[must_use]
    pub fn later(&self) -> Moment<'p> {
        // Ordering: as in `Progress::later`.
        full_fence();
        // No other thread can have confirmed more than we have.
        let value = next(next(self.thread.confirmed()));
        self.registration.progress.raise_target(value);
        self.registration.progress.moment(value)
    }

    /// As [`ManagedThread::schedule`].
    pub fn schedule(&mut self, operation: impl IntoOperation) {
        self.thread.schedule(operation);
    }

    /// As [`ManagedThread::defer`].
    #[cfg(feature = "alloc")]
    pub fn defer(&mut self, closure: impl FnOnce() + Send + 'static) {
        self.schedule(Box::new(Operation::new(closure)));
    }

    /// Confirms that the thread holds no references. Cheap when nothing has changed: loads
    /// of a line that is seldom written.
    ///
    /// True if this thread leads and somebody has asked for more than was reached: then it must
    /// call [`leader_update`](Self::leader_update), which may take longer and wake others, as soon
    /// as it holds no locks.
    ///
    /// Waits if another thread blocks.
    #[inline]
    #[must_use = "if true, call `leader_update`"]
    pub fn update(&mut self) -> bool {
        self.has_updated = true;
        let thread = &mut *self.thread;
        let progress = self.registration.progress;
        let mut state = progress.state();
        if state.is_blocked() {
            thread.yield_to_blocker();
            state = progress.state();
        }
        let current = state.value();
        if thread.confirmed() == current {
            self.registration.confirm(next(current));
        }
        thread.leads = thread.leads || progress.try_lead();
        thread.leads && progress.is_target_ahead(current)
    }

    /// Advances, if this thread leads and all others have confirmed. Returns whether it did.
    pub fn leader_update(&mut self) -> bool {
        let thread = &mut *self.thread;
        let advanced = thread.leads && self.registration.progress.try_advance();
        if advanced {
            self.registration.confirm(next(thread.confirmed()));
        }
        advanced
    }

    /// All that a managed thread should do often: update, advance if it leads, run what may be
    /// run. Returns how many operations were run.
    pub fn tick(&mut self) -> usize {
        self.thread.seal();
        if self.update() {
            self.leader_update();
        }
        self.thread.run_reached()
    }
}

impl<D: Domain> Drop for Active<'_, '_, D> {
    #[inline]
    fn drop(&mut self) {
        if self.has_updated && self.thread.leads {
            self.thread.return_leadership();
        }
        self.registration.leave();
    }
}

impl<D: Domain> fmt::Debug for Active<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Active").field(&self.thread).finish()
    }
}
