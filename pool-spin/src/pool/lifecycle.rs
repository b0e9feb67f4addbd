//! Whether a pool runs, and which of its workers are there.

use crate::primitive::{AtomicUsize, Ordering, spin_loop};

/// No core becomes a worker any more.
const ENDED: usize = 1;
/// One core is a worker; the rest of the word counts them.
const WORKER: usize = 2;

/// Whether a pool runs, in one word.
pub(crate) struct Lifecycle(AtomicUsize);

impl Lifecycle {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// A core becomes a worker. False if the pool has ended, unless that is no matter.
    pub(crate) fn join(&self, also_after_the_end: bool) -> bool {
        // Ordering: Acquire pairs with `finish_restart`. Relaxed on failure: nothing happens.
        let may_join = |word| also_after_the_end || word & ENDED == 0;
        let update = |word| may_join(word).then_some(word + WORKER);
        self.0
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, update)
            .is_ok()
    }

    /// A worker has left.
    pub(crate) fn leave(&self) {
        // Ordering: Release pairs with `try_begin_restart`.
        self.0.fetch_sub(WORKER, Ordering::Release);
    }

    /// Ends the pool. True for the one who does.
    pub(crate) fn end(&self) -> bool {
        // Ordering: Relaxed, it picks one; what orders the end is the registry's count.
        self.0.fetch_or(ENDED, Ordering::Relaxed) & ENDED == 0
    }

    /// The pool has ended, all workers have left, and the caller alone may begin it again; false
    /// otherwise.
    pub(crate) fn try_begin_restart(&self) -> bool {
        // Whoever begins it again counts as a worker until it has.
        //
        // Ordering: Acquire pairs with `leave`; the count is read-modify-writes, so all are seen.
        // Relaxed on failure: nothing happens.
        self.0
            .compare_exchange(ENDED, ENDED | WORKER, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Cores may become workers again.
    pub(crate) fn finish_restart(&self) {
        // Others may have come meanwhile for the jobs that were left: so no store.
        //
        // Ordering: Release pairs with `join`.
        self.0.fetch_sub(ENDED | WORKER, Ordering::Release);
    }
}

/// The worker is there.
const OPEN: usize = 1;
/// The worker has been asked to leave.
const RELEASED: usize = 2;
/// One sender is inside; the rest of the word counts them.
const SENDER: usize = 4;

/// The way to one worker's inbox. The worker opens it when it comes and closes it when it goes;
/// senders go through while it is open.
pub struct Gate(AtomicUsize);

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
