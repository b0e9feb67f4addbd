//! Blocking: one thread stops all other managed threads.

use core::fmt;

use sleep_core::Parker;
use sleep_primitives::{Ordering, spin_loop};

use crate::{
    Active, AsymmetricFence, Domain, ManagedThread, Progress,
    moment::WAITING,
    unwind::{for_each, on_unwind},
};

impl<D: Domain> Progress<D> {
    /// Ends the block of the calling thread and wakes all others.
    pub(crate) fn let_continue(&self) {
        // Ordering: Release pairs with the exchange in `become_blocker`. The flag is cleared first:
        // later it would be the flag of the next blocker.
        self.shared.state.unblock();
        self.blocker.store(0, Ordering::Release);
        for_each(self.participants(), |participant| {
            participant.parker().unpark();
        });
    }

    /// Wakes the thread that blocks, if there is one, because a participant has changed.
    pub(crate) fn wake_blocker(&self) {
        // Ordering: Relaxed; the parker publishes. Another thread may block by now, which then
        // looks once too often.
        let blocker = self.blocker.load(Ordering::Relaxed);
        if let Some(participant) = blocker
            .checked_sub(1)
            .and_then(|index| self.participants().get(index))
        {
            participant.parker().unpark();
        }
    }
}

impl<'p, D: Domain> ManagedThread<'p, D> {
    /// Stops all other managed threads: waits until each of them waits, which it does when it is
    /// not active or updates. None becomes active until the guard is dropped.
    ///
    /// Delays and [readers](crate::Reader) are not stopped, because they are not managed.
    ///
    /// # Panics
    /// Panics if the [`AsymmetricFence`] has no heavy fence any more, or if so many guards were
    /// forgotten that a word does not count them.
    #[doc(alias = "stop_machine")]
    pub fn block(&mut self) -> Blocked<'_, 'p, D> {
        if self.blocks == 0 {
            self.become_blocker();
        }
        // Forgotten guards could make the count overflow, and it would lose one that lives.
        self.blocks = self
            .blocks
            .checked_add(1)
            .expect("too many forgotten guards");
        Blocked { thread: self }
    }

    /// Stops all other threads. If this panics, this thread does not block.
    fn become_blocker(&mut self) {
        let progress = self.progress();
        // Ordering: Acquire pairs with `let_continue`: this thread sees what the last blocker did.
        // Relaxed on failure: the loop looks again.
        //
        // Liveness: the other blocker stores zero in `let_continue`. While it blocks, this thread
        // waits, so that the other blocker does not wait for it.
        while progress
            .blocker
            .compare_exchange(0, self.index + 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.yield_to_blocker();
            spin_loop();
        }
        on_unwind(|| self.stop_others(), || progress.let_continue());
    }

    /// Waits until no other managed thread is active. This thread is the blocker.
    fn stop_others(&self) {
        let progress = self.progress();
        progress.shared.state.block();
        // Ordering: pairs with the light fence of `confirm`: either a thread that becomes active
        // sees the flag, or this thread sees its participant.
        if !D::Fence::heavy() {
            panic!(
                "threads cannot be blocked: the system refuses a barrier that it has granted before"
            );
        }
        for (index, participant) in progress.participants().iter().enumerate() {
            while index != self.index
                && participant.confirmed() != WAITING
                && participant.is_managed()
            {
                // Liveness: the thread sees the flag when it updates or goes to wait. It then
                // unparks this thread, after it has written its participant; the token stays until
                // this thread parks. If a reader had confirmed and has ended meanwhile, it unparks
                // too.
                self.participant().parker().park();
            }
        }
    }

    /// Waits while another thread blocks, even if this thread is active.
    #[cold]
    pub(crate) fn yield_to_blocker(&mut self) {
        // Ordering: Relaxed; only this thread stores its own number.
        if self.progress().blocker.load(Ordering::Relaxed) == self.index + 1 {
            return;
        }
        if !self.is_active() {
            self.wait_while_blocked();
            return;
        }
        self.stop_leading();
        let leave_and_enter = || {
            self.registration.leave();
            self.wait_while_blocked();
            self.enter();
        };
        // A guard may live, which must protect after a panic too.
        on_unwind(leave_and_enter, || {
            self.spin_while_blocked();
            self.enter_after(Self::spin_while_blocked);
        });
    }

    /// Parks while another thread blocks. This thread waits, so that it is not waited for. If code
    /// of the program has pinned it meanwhile, it is active, and must not wait any more.
    #[cold]
    pub(crate) fn wait_while_blocked(&self) {
        while self.progress().state().is_blocked() && !self.is_active() {
            // Liveness: `let_continue` clears the flag and then unparks every participant; the
            // token stays until this thread parks.
            self.participant().parker().park();
        }
    }

    /// Waits as [`wait_while_blocked`](Self::wait_while_blocked) does, without the parker, which
    /// may have panicked.
    #[cold]
    fn spin_while_blocked(&self) {
        // Liveness: `let_continue` clears the flag.
        while self.progress().state().is_blocked() {
            spin_loop();
        }
    }
}

impl<'p, D: Domain> Active<'_, 'p, D> {
    /// Stops all other managed threads, and counts as an [update](Active::update): the thread must
    /// hold no references. While another thread blocks, this one waits, and does not delay
    /// progress. It is active when this returns. See [`ManagedThread::block`].
    ///
    /// # Panics
    /// Panics as [`ManagedThread::block`] does.
    pub fn block(&mut self) -> Blocked<'_, 'p, D> {
        self.thread.block()
    }
}

/// Keeps all other managed threads stopped. Created by [`ManagedThread::block`].
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
/// {
///     let _blocked = this_thread.block();
///     // ... no other managed thread reads, so what they share may be changed in place ...
/// }
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[must_use = "the other threads continue when the guard is dropped"]
pub struct Blocked<'t, 'p, D: Domain> {
    thread: &'t mut ManagedThread<'p, D>,
}

impl<'p, D: Domain> Blocked<'_, 'p, D> {
    /// Blocks once more. The other threads continue when all guards are dropped.
    ///
    /// # Panics
    /// Panics if so many guards were forgotten that a word does not count them.
    pub fn block(&mut self) -> Blocked<'_, 'p, D> {
        self.thread.block()
    }
}

impl<D: Domain> Drop for Blocked<'_, '_, D> {
    fn drop(&mut self) {
        self.thread.blocks -= 1;
        if self.thread.blocks == 0 {
            self.thread.progress().let_continue();
        }
    }
}

impl<D: Domain> fmt::Debug for Blocked<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocked").field(&self.thread).finish()
    }
}
