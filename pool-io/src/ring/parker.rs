//! A parker that sleeps in a ring, so that its worker wakes for its own operations, too.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use pool_std::driver::{ChannelFull, Hint, WorkerParker};

use crate::ring::rings::Rings;

#[cfg(test)]
mod tests;

/// No thread waits, and there is no token.
const EMPTY: u8 = 0;
/// There is a token.
const TOKEN: u8 = 1;
/// The worker sleeps, or is about to.
const WAITING: u8 = 2;

/// A token, and the ring in which its worker waits for it.
pub(crate) struct RingParker {
    state: AtomicU8,
    rings: Arc<Rings>,
    worker: usize,
}

impl RingParker {
    pub(crate) fn new(rings: Arc<Rings>, worker: usize) -> Self {
        Self {
            state: AtomicU8::new(EMPTY),
            rings,
            worker,
        }
    }

    /// Sends a hint. Calls a closure in the middle, for tests.
    fn send_and_interrupt(&self, hint: Hint, interrupt: impl FnOnce()) -> Result<(), ChannelFull> {
        let pipe = self.rings.hint_pipe(self.worker);
        // Ordering: Release, as in `unpark`.
        let waits =
            self.state
                .compare_exchange(WAITING, TOKEN, Ordering::Release, Ordering::Relaxed);
        if waits.is_ok() {
            // As in `unpark`: the hint that ends the wait is written after the state has changed.
            return pipe.send(hint);
        }
        pipe.send(hint)?;
        interrupt();
        // The worker may wait by now, and an earlier wait may have taken the hint. In that case,
        // this writes another one.
        self.unpark();
        Ok(())
    }

    /// Waits for the token or a completion. The state was WAITING.
    fn wait(&self) {
        // Liveness: an `unpark` that comes before the look at the state makes the worker return;
        // one that comes later finds WAITING and writes a hint, for which a read is in flight by
        // then. The look comes when no other thread can take the completion of that read any more.
        //
        // Ordering: Relaxed; it only decides whether to wait, and one word has one order.
        let may_wait = || self.state.load(Ordering::Relaxed) == WAITING;
        let completed = self.rings.sleep(self.worker, may_wait);
        // The worker is awake from here on: the conclusions below may unpark this same worker,
        // which needs no hint for that. A token that has been set stays.
        let _ = self
            .state
            .compare_exchange(WAITING, EMPTY, Ordering::Relaxed, Ordering::Relaxed);
        self.rings.conclude(self.worker, completed);
    }
}

impl WorkerParker for RingParker {
    /// Returns for the token, and also for a completion of the ring, after concluding it.
    fn park(&self) {
        // Ordering: Acquire pairs with `unpark`: what its caller wrote is visible. The same holds
        // for the exchange at the end.
        let before =
            self.state
                .compare_exchange(EMPTY, WAITING, Ordering::Acquire, Ordering::Acquire);
        if before.is_ok() {
            self.wait();
        } else if self.rings.hint_pipe(self.worker).is_unread() {
            // There is already a token. Its hint is taken out now, because it would end the next
            // sleep.
            let completed = self.rings.sleep(self.worker, || false);
            self.rings.conclude(self.worker, completed);
        }
        self.state.swap(EMPTY, Ordering::Acquire);
    }

    fn unpark(&self) {
        // Ordering: Release pairs with `park`.
        if self.state.swap(TOKEN, Ordering::Release) == WAITING {
            // A pipe that is full holds hints, which end the wait as well.
            let _ = self.rings.hint_pipe(self.worker).send(Hint::Unknown);
        }
    }

    /// The hint goes through the worker's pipe. A worker that is about to wait and finds the token
    /// first gets the hint when it next looks.
    fn send(&self, hint: Hint) -> Result<(), ChannelFull> {
        self.send_and_interrupt(hint, || ())
    }

    /// Takes the newest hint that has come.
    fn receive(&self) -> Option<Hint> {
        self.rings.hint_pipe(self.worker).take()
    }
}
