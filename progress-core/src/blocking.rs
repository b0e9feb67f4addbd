//! Blocking: one thread stops all other managed ones.

use core::fmt;

use crate::{Active, AsymmetricFence, Domain, ManagedThread, Progress, moment::WAITING};
use sleep_core::Parker;

use sleep_primitives::{Ordering, spin_loop};

impl<D: Domain> Progress<D> {
    /// Wakes the thread that blocks, if there is one: a line has changed.
    pub(crate) fn wake_blocker(&self) {
        // Ordering: Relaxed, the parker brings the news. Whoever blocks by now may be another
        // one, which then looks once too often.
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
    /// Stops all other managed threads: waits until each waits, as it does when it is not active
    /// or updates. None becomes active until the guard is dropped.
    ///
    /// Delays and [readers](crate::Reader) do not count: they are not managed.
    ///
    /// # Panics
    /// If the [`AsymmetricFence`] has no heavy fence any more.
    pub fn block(&mut self) -> Blocked<'_, 'p, D> {
        self.start_blocking();
        Blocked { thread: self }
    }

    fn start_blocking(&mut self) {
        self.blocks += 1;
        if self.blocks > 1 {
            return;
        }
        let progress = self.progress();
        // Ordering: Acquire pairs with `stop_blocking`: what the last blocker did is seen. Relaxed
        // on failure: we look again.
        while progress
            .blocker
            .compare_exchange(0, self.index + 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            self.yield_to_blocker();
            spin_loop();
        }
        progress.shared.state.block();
        // Ordering: pairs with the light fence of `confirm`: either a thread that becomes active
        // sees the bit, or we see its line.
        if !D::Fence::heavy() {
            self.stop_blocking();
            panic!(
                "threads cannot be blocked: the system refuses a barrier that it has granted before"
            );
        }
        for (index, participant) in progress.participants().iter().enumerate() {
            while index != self.index
                && participant.confirmed() != WAITING
                && participant.is_managed()
            {
                // Liveness: the thread sees the bit when it updates, or goes to wait, and then
                // unparks us after it has written its line; the token stays until we park. If
                // what we saw confirmed was a reader's, which has gone meanwhile, so does that one.
                self.participant().parker().park();
            }
        }
    }

    pub(crate) fn stop_blocking(&mut self) {
        self.blocks -= 1;
        if self.blocks > 0 {
            return;
        }
        let progress = self.progress();
        // Ordering: Release pairs with the exchange in `start_blocking`. The bit goes first: it
        // must not be the next blocker's.
        progress.shared.state.unblock();
        progress.blocker.store(0, Ordering::Release);
        for participant in progress.participants() {
            participant.parker().unpark();
        }
    }

    /// Waits, also if active, while another thread blocks.
    #[cold]
    pub(crate) fn yield_to_blocker(&mut self) {
        // Ordering: Relaxed, only we write our own number.
        if self.progress().blocker.load(Ordering::Relaxed) == self.index + 1 {
            return;
        }
        if self.is_active() {
            self.leave();
            self.wait_while_blocked();
            self.enter();
        } else {
            self.wait_while_blocked();
        }
    }

    /// Parks until nobody blocks. While waiting.
    #[cold]
    pub(crate) fn wait_while_blocked(&self) {
        while self.progress().state().is_blocked() {
            // Liveness: `stop_blocking` clears the bit and then unparks every line; the token
            // stays until we park.
            self.participant().parker().park();
        }
    }
}

impl<'p, D: Domain> Active<'_, 'p, D> {
    /// As [`ManagedThread::block`]. This thread stays active.
    pub fn block(&mut self) -> Blocked<'_, 'p, D> {
        self.thread.block()
    }
}

/// All other managed threads are stopped. From [`ManagedThread::block`].
pub struct Blocked<'t, 'p, D: Domain> {
    thread: &'t mut ManagedThread<'p, D>,
}

impl<'p, D: Domain> Blocked<'_, 'p, D> {
    /// Blocks once more; the others go on when all guards are dropped.
    pub fn block(&mut self) -> Blocked<'_, 'p, D> {
        self.thread.block()
    }
}

impl<D: Domain> Drop for Blocked<'_, '_, D> {
    fn drop(&mut self) {
        self.thread.stop_blocking();
    }
}

impl<D: Domain> fmt::Debug for Blocked<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Blocked").field(&self.thread).finish()
    }
}
