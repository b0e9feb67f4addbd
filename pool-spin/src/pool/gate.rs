//! Whether a worker is there: so that nobody leaves it a job that it alone may run when it goes.

use crate::primitive::{AtomicUsize, Ordering, spin_loop};

/// The worker is there.
const OPEN: usize = 1;
/// The worker has been asked to leave.
const RELEASED: usize = 2;
/// One sender is inside; the rest of the word counts them.
const SENDER: usize = 4;

/// The way to one worker's inbox. The worker opens it when it comes and closes it when it goes;
/// senders go through while it is open.
pub(crate) struct Gate(AtomicUsize);

impl Gate {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The worker comes.
    pub(crate) fn open(&self) {
        // Ordering: Release pairs with `enter`, for what the worker did before.
        self.0.store(OPEN, Ordering::Release);
    }

    /// The worker goes: lets nobody in any more, and waits until nobody is inside. What they sent
    /// is visible then.
    pub(crate) fn close(&self) {
        // Ordering: Relaxed, the loop below receives.
        self.0.fetch_and(!(OPEN | RELEASED), Ordering::Relaxed);
        // Ordering: Acquire pairs with `exit`.
        //
        // Liveness: senders inside push one job and wait for nothing.
        while self.0.load(Ordering::Acquire) != 0 {
            spin_loop();
        }
    }

    /// Asks the worker to leave. False if it is not there.
    pub(crate) fn release(&self) -> bool {
        // Ordering: Release pairs with `is_released`. Relaxed on failure: nothing happened.
        let update = |word| (word & OPEN != 0).then_some(word | RELEASED);
        self.0
            .fetch_update(Ordering::Release, Ordering::Relaxed, update)
            .is_ok()
    }

    /// Whether the worker has been asked to leave.
    pub(crate) fn is_released(&self) -> bool {
        // Ordering: Acquire pairs with `release`.
        self.0.load(Ordering::Acquire) & RELEASED != 0
    }

    /// A sender goes in. False if the worker is not there.
    pub(crate) fn enter(&self) -> bool {
        // Ordering: Acquire pairs with `open`. Relaxed on failure: the sender does nothing.
        let update = |word| (word & OPEN != 0).then_some(word + SENDER);
        self.0
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, update)
            .is_ok()
    }

    /// The sender has sent.
    pub(crate) fn exit(&self) {
        // Ordering: Release pairs with `close`: what was sent is found.
        self.0.fetch_sub(SENDER, Ordering::Release);
    }
}
