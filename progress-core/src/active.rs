//! Managed threads that read: how they enter, update and leave.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::fmt;

use sleep_primitives::{RawWord, full_fence};

#[cfg(feature = "alloc")]
use crate::Operation;
use crate::{
    AsymmetricFence, Domain, ManagedThread, Moment, Participant, Progress,
    moment::{WAITING, next},
    operation::IntoOperation,
};

/// The instance and the participant of a thread. Its guards hold a copy, which stays in registers
/// when a fence makes the compiler forget what is in memory.
pub(crate) struct Registration<'p, D: Domain> {
    pub(crate) progress: &'p Progress<D>,
    pub(crate) participant: &'p Participant<D::Parker>,
}

impl<D: Domain> Clone for Registration<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Domain> Copy for Registration<'_, D> {}

impl<D: Domain> Registration<'_, D> {
    /// Stores what the thread confirms, and orders the store before all later reads of the thread.
    #[inline]
    pub(crate) fn confirm(self, value: RawWord) {
        self.participant.set_confirmed(value);
        // Ordering: pairs with the leader's heavy fence (`try_advance`), with that of a thread that
        // requests a wake-up or blocks (`request_wakeup`, `block`), and with the full fence of
        // `later`.
        D::Fence::light();
    }

    /// Goes from active to waiting. The thread does not lead.
    #[inline]
    pub(crate) fn leave(self) {
        self.confirm(WAITING);
        let state = self.progress.state();
        if state.has_pending() {
            self.progress.handle_pending(state);
        }
    }

    /// Goes to waiting if a forgotten guard has left the thread active, or has left it the
    /// leadership, which it has given up now: others have left their requests to it.
    ///
    /// A thread that waits and did not lead makes no progress here. Its owner may have looked
    /// whether operations are due, and left them to others. If they became due now, no other thread
    /// would know.
    pub(crate) fn leave_forgotten(self, has_led: bool) {
        if has_led || self.participant.confirmed() != WAITING {
            self.leave();
        }
    }
}

impl<'p, D: Domain> ManagedThread<'p, D> {
    /// Allows the thread to read, until the guard is dropped. The thread should call
    /// [`Active::update`] often, or drop the guard.
    ///
    /// Waits if another thread blocks.
    #[inline]
    pub fn activate(&mut self) -> Active<'_, 'p, D> {
        let registration = self.registration;
        // Changes something only if a guard was forgotten.
        self.stop_leading();
        // Likewise. The exclusive reference proves that no guard lives.
        self.pins.set(0);
        self.enter();
        Active {
            has_updated: false,
            thread: self,
            registration,
        }
    }

    /// Makes the thread active until the guard is dropped. May be called again meanwhile: the
    /// thread stays active until the last guard is dropped. Intended for a thread whose frames read
    /// without knowing about each other, such as a pool's worker that runs one job within another.
    ///
    /// Progress waits for the thread as long as a guard lives: there is no
    /// [update](Active::update) in between. Only the first guard costs what
    /// [`activate`](Self::activate) costs.
    ///
    /// Waits if another thread blocks, unless a guard lives already.
    ///
    /// # Panics
    /// Panics if so many guards were forgotten that a word does not count them.
    #[inline]
    pub fn pin(&self) -> Pinned<'_, 'p, D> {
        if self.pins.get() == 0 {
            self.enter();
        }
        // Read only now: the parker and wake-ups are code of the program, which may have pinned
        // this thread while it entered.
        //
        // Forgotten guards could make the count overflow, and it would lose one that lives.
        let pins = self.pins.get().checked_add(1);
        self.pins.set(pins.expect("too many forgotten guards"));
        Pinned { thread: self }
    }

    /// Returns what the participant holds.
    #[inline]
    pub(crate) fn confirmed(&self) -> RawWord {
        self.participant().confirmed()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.confirmed() != WAITING
    }

    /// Goes from waiting to active.
    #[inline]
    pub(crate) fn enter(&self) {
        let registration = self.registration;
        let current = registration.progress.current();
        registration.confirm(next(current));
        if !registration.progress.state().is_quiet_at(current) {
            self.enter_after(Self::wait_while_blocked);
        }
    }

    /// Enters, or continues to enter after something has changed meanwhile. Calls `wait` if another
    /// thread blocks.
    #[cold]
    pub(crate) fn enter_after(&self, wait: fn(&Self)) {
        let pins = self.pins.get();
        loop {
            if self.progress().state().is_blocked() && self.blocks == 0 {
                // A thread that enters does not lead.
                self.registration.leave();
                wait(self);
                // Both may have called code of the program, whose guard must keep the value that
                // it has confirmed.
                if self.pins.get() > pins {
                    return;
                }
            }
            let current = self.progress().current();
            self.registration.confirm(next(current));
            let state = self.progress().state();
            if state.value() == current && (!state.is_blocked() || self.blocks > 0) {
                return;
            }
        }
    }

    /// Returns the leadership if this thread has it.
    #[inline]
    pub(crate) fn stop_leading(&mut self) {
        if self.leads {
            self.return_leadership();
        }
    }

    #[cold]
    fn return_leadership(&mut self) {
        self.leads = false;
        self.progress().stop_leading();
    }
}

/// A managed thread that may read, and that delays progress unless it [updates](Self::update).
/// Created by [`ManagedThread::activate`].
///
/// References to what progress frees should borrow from this guard. Then the compiler sees that
/// none is held across an update.
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 2];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let mut this_thread = progress.register()?;
/// let mut active = this_thread.activate();
/// for _request in 0..3 {
///     // ... reads of shared structures ...
///     active.tick(); // nothing that was read before is used from here on
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[must_use = "the thread waits again when the guard is dropped"]
pub struct Active<'t, 'p, D: Domain> {
    pub(crate) thread: &'t mut ManagedThread<'p, D>,
    pub(crate) registration: Registration<'p, D>,
    /// A thread that has not updated does not lead.
    pub(crate) has_updated: bool,
}

impl<'p, D: Domain> Active<'_, 'p, D> {
    /// Returns a moment as [`Progress::later`] does, without reading what other threads write.
    pub fn later(&self) -> Moment<'p> {
        // Ordering: as in `Progress::later`.
        full_fence();
        // Another thread may have confirmed one value more, and none that is further ahead.
        let value = next(next(self.thread.confirmed()));
        self.registration.progress.raise_target(value);
        self.registration.progress.moment(value)
    }

    /// Schedules an operation. See [`ManagedThread::schedule`].
    pub fn schedule(&mut self, operation: impl IntoOperation) {
        self.thread.schedule(operation);
    }

    /// Schedules a closure, in a box. See [`ManagedThread::defer`].
    #[cfg(feature = "alloc")]
    pub fn defer(&mut self, closure: impl FnOnce() + Send + 'static) {
        self.schedule(Box::new(Operation::new(closure)));
    }

    /// Confirms that the thread holds no references: a quiescent state. If nothing has changed,
    /// this costs only loads of a cache line that is rarely written. A thread that calls this less
    /// often takes part in fewer advances, and delays progress longer.
    ///
    /// Returns true if this thread leads and a thread has asked for more than is reached. Then this
    /// thread must call [`leader_update`](Self::leader_update) as soon as it holds no locks. That
    /// call may take longer and wake other threads.
    ///
    /// Waits if another thread blocks.
    #[doc(alias = "rcu_quiescent_state")]
    #[doc(alias = "repin")]
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

    /// Advances, if this thread leads and all other threads have confirmed. Returns whether it did.
    /// If so, this was an [update](Self::update), too: the thread must hold no references.
    pub fn leader_update(&mut self) -> bool {
        let thread = &mut *self.thread;
        let advanced = thread.leads && self.registration.progress.try_advance();
        if advanced {
            self.registration.confirm(next(thread.confirmed()));
        }
        advanced
    }

    /// Performs everything that a managed thread should do often: updates, advances if it leads,
    /// and runs the operations whose time has come. Returns the number of operations.
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
        if self.has_updated {
            self.thread.stop_leading();
        }
        self.registration.leave();
    }
}

impl<D: Domain> fmt::Debug for Active<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Active").field(&self.thread).finish()
    }
}

/// A managed thread that may read in nested frames. Created by [`ManagedThread::pin`].
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let mut this_thread = progress.register()?;
/// {
///     // Functions that have a reference to the thread may pin it once more.
///     let _pinned = this_thread.pin();
///     let _again = this_thread.pin();
/// }
/// assert_eq!(this_thread.pending(), 0);
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[must_use = "the thread waits again when its last guard is dropped"]
pub struct Pinned<'t, 'p, D: Domain> {
    thread: &'t ManagedThread<'p, D>,
}

impl<D: Domain> Drop for Pinned<'_, '_, D> {
    #[inline]
    fn drop(&mut self) {
        let pins = self.thread.pins.get() - 1;
        self.thread.pins.set(pins);
        if pins == 0 {
            self.thread.registration.leave();
        }
    }
}

impl<D: Domain> fmt::Debug for Pinned<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned")
            .field("pins", &self.thread.pins.get())
            .finish_non_exhaustive()
    }
}
