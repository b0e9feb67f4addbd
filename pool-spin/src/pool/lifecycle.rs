//! Whether a pool runs, and which of its workers are present.

use crate::primitive::{AtomicUsize, Ordering, spin_loop};

/// The pool has ended: cores no longer become workers.
const ENDED: usize = 1;
/// The pool has ended, and a thread is restarting it.
const RESTARTING: usize = 2;
/// The pool was ended again while it was being restarted.
const ENDED_AGAIN: usize = 4;
/// One worker; the rest of the word counts them.
const WORKER: usize = 8;

/// Whether a pool has ended, and the number of cores that are its workers, in one word.
pub(crate) struct Lifecycle(AtomicUsize);

impl Lifecycle {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Counts a core that becomes a worker. Returns whether it may: not after the end, unless
    /// `also_after_the_end`.
    pub(crate) fn join(&self, also_after_the_end: bool) -> bool {
        // Ordering: Acquire pairs with `finish_restart`. Relaxed on failure: the core does nothing.
        let may_join = |word| also_after_the_end || word & ENDED == 0;
        let update = |word| may_join(word).then_some(word + WORKER);
        self.0
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, update)
            .is_ok()
    }

    /// Counts a worker that has left.
    pub(crate) fn leave(&self) {
        // Ordering: Release pairs with `try_begin_restart`.
        self.0.fetch_sub(WORKER, Ordering::Release);
    }

    /// Ends the pool. Returns whether it was this call that ended it. During a restart, it was not:
    /// the thread that restarts the pool ends it, see [`finish_restart`](Self::finish_restart).
    pub(crate) fn end(&self) -> bool {
        let update = |word| match word & (ENDED | RESTARTING) {
            0 => Some(word | ENDED),
            ENDED => None,
            _ => Some(word | ENDED_AGAIN),
        };
        // Ordering: Release pairs with `finish_restart`, whose caller ends the pool. Otherwise this
        // picks one caller, and the registry's count of references orders the end.
        let before = self
            .0
            .fetch_update(Ordering::Release, Ordering::Relaxed, update);
        before.is_ok_and(|before| before & ENDED == 0)
    }

    /// Begins a restart. Returns whether the caller may continue with it, which is true for one
    /// caller only, and only if the pool has ended and all workers have left.
    pub(crate) fn try_begin_restart(&self) -> bool {
        // The caller counts as a worker until `finish_restart`.
        let restarting = ENDED | RESTARTING | WORKER;
        // Ordering: Acquire pairs with `leave`. All changes of the count are read-modify-writes, so
        // it pairs with each of them. Relaxed on failure: the caller does nothing.
        self.0
            .compare_exchange(ENDED, restarting, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Allows cores to become workers again, unless the pool was ended since the restart began:
    /// other threads may have seen by then that the pool runs. Returns whether it was; then the
    /// caller ends it.
    pub(crate) fn finish_restart(&self) -> bool {
        // This is not a store: workers may have arrived meanwhile for jobs that were left.
        let update = |word: usize| {
            let has_ended = word & ENDED_AGAIN != 0;
            let counted = (word & !(ENDED | RESTARTING | ENDED_AGAIN)) - WORKER;
            Some(if has_ended { counted | ENDED } else { counted })
        };
        // Ordering: Release pairs with `join`, Acquire with `end`.
        let before = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, update);
        before.is_ok_and(|before| before & ENDED_AGAIN != 0)
    }
}

/// The worker is present.
const OPEN: usize = 1;
/// The worker has been asked to leave.
const RELEASED: usize = 2;
/// One sender inside; the rest of the word counts them.
const SENDER: usize = 4;

/// The way to one worker's inbox, which holds jobs that only this worker may run.
///
/// The worker opens the gate when it arrives and closes it when it leaves. Senders pass while the
/// gate is open, so that no job is left in the inbox of an absent worker.
#[derive(Debug)]
pub struct Gate {
    state: AtomicUsize,
}

impl Gate {
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicUsize::new(0),
        }
    }

    /// Opens the gate: the worker has arrived.
    pub(crate) fn open(&self) {
        // Ordering: Release pairs with `enter`: senders see what the worker did before.
        self.state.store(OPEN, Ordering::Release);
    }

    /// Closes the gate to senders and waits until none is inside. All jobs that they sent are then
    /// visible.
    pub(crate) fn close(&self) {
        // Ordering: Relaxed; the loop below synchronizes.
        self.state.fetch_and(!(OPEN | RELEASED), Ordering::Relaxed);
        // Ordering: Acquire pairs with `exit`.
        //
        // Liveness: each sender inside pushes one job, waits for nothing and leaves; no sender
        // enters.
        while self.state.load(Ordering::Acquire) != 0 {
            spin_loop();
        }
    }

    /// Asks the worker to leave. Returns whether the worker is present.
    pub(crate) fn release(&self) -> bool {
        // Ordering: Release pairs with `is_released`. Relaxed on failure: nothing is written.
        let update = |word| (word & OPEN != 0).then_some(word | RELEASED);
        self.state
            .fetch_update(Ordering::Release, Ordering::Relaxed, update)
            .is_ok()
    }

    /// Whether the worker has been asked to leave.
    pub(crate) fn is_released(&self) -> bool {
        // Ordering: Acquire pairs with `release`.
        self.state.load(Ordering::Acquire) & RELEASED != 0
    }

    /// Admits a sender. Returns whether the worker is present.
    pub(crate) fn enter(&self) -> bool {
        // Ordering: Acquire pairs with `open`. Relaxed on failure: the sender does nothing.
        let update = |word| (word & OPEN != 0).then_some(word + SENDER);
        self.state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, update)
            .is_ok()
    }

    /// Releases a sender that has sent its job.
    pub(crate) fn exit(&self) {
        // Ordering: Release pairs with `close`: the worker finds the job.
        self.state.fetch_sub(SENDER, Ordering::Release);
    }
}
