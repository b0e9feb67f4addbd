//! Calls whose jobs thieves leave alone at first.
//!
//! To have a job stolen costs a caller half a microsecond to two: the thief fetches the caller's
//! cache lines, and ends the bias of its deque. A call that takes less than a few microseconds is
//! faster alone. So a platform that expects a short call [shields](WorkerThread::raise_shield) its
//! worker meanwhile. A thief that meets the shield notes the time, and steals nothing. If it meets
//! the same call later than [`SHIELDED_FOR`], it breaks the shield for all thieves.
//!
//! # Why no job waits for good
//!
//! A thief that leaves a job alone is a worker that searches. It goes on searching as long as the
//! deque holds jobs, because its last look before it sleeps sees them. So it meets the call again
//! and breaks the shield, unless the call ends before. A worker watches one call at a time, until
//! that one has ended or its shield is broken, so each call has its turn. A caller that wakes a
//! worker lowers its shield, so that the worker steals at once.
//!
//! Jobs that the worker may leave to others, as those of scopes, are never shielded.

use core::cell::Cell;

use crate::{
    platform::Platform,
    primitive::{AtomicUsize, Ordering},
    worker::{WorkerShared, WorkerThread},
};

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of nanoseconds for which a thief leaves a call alone: about the duration of the
/// longest call that a second worker does not make faster.
const SHIELDED_FOR: u64 = 10_000;

/// Whether the jobs of a worker's call are shielded.
///
/// The word contains the number of the call, and a [`State`] in its two lowest bits. It is written
/// by the worker, and by a thief that breaks the shield.
pub(crate) struct Shield(AtomicUsize);

/// A call whose jobs are shielded: its number and its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ShieldedCall(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum State {
    Down = 0,
    Raised = 1,
    Broken = 2,
}

const STATE_BITS: u32 = 2;
const STATE_MASK: usize = (1 << STATE_BITS) - 1;

impl Shield {
    const_unless_loom! {
        /// Creates a shield that is down.
        pub(super) fn new() -> Self {
            Self(AtomicUsize::new(State::Down as usize))
        }
    }

    /// Returns the call whose jobs are shielded, if there is one.
    #[inline]
    fn call(&self) -> Option<ShieldedCall> {
        // Ordering: Relaxed for each access to this word. It says for how long thieves wait, and
        // guards nothing.
        let word = self.0.load(Ordering::Relaxed);
        (word & STATE_MASK == State::Raised as usize).then_some(ShieldedCall(word))
    }

    /// Raises the shield for a new call.
    fn raise(&self) {
        let call = (self.0.load(Ordering::Relaxed) & !STATE_MASK).wrapping_add(1 << STATE_BITS);
        self.0
            .store(call | State::Raised as usize, Ordering::Relaxed);
    }

    /// Lowers the shield. Returns whether a thief has broken it.
    pub(super) fn lower(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        // A thief that breaks it between these two is not noticed, and has stolen nothing yet.
        self.0.store(word & !STATE_MASK, Ordering::Relaxed);
        word & STATE_MASK == State::Broken as usize
    }

    /// Breaks the shield of this call, if it has not ended.
    fn break_for(&self, call: ShieldedCall) {
        let broken = (call.0 & !STATE_MASK) | State::Broken as usize;
        // If this fails, the call has ended, or another thief was faster.
        let _ = self
            .0
            .compare_exchange(call.0, broken, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The shielded call that a thief watches.
pub(crate) struct Watch(Cell<Option<Watched>>);

#[derive(Debug, Clone, Copy)]
struct Watched {
    victim: usize,
    call: ShieldedCall,
    /// When the thief has met it first, in nanoseconds.
    since: u64,
}

impl Watch {
    pub(super) const fn new() -> Self {
        Self(Cell::new(None))
    }
}

impl<P: Platform> WorkerThread<P> {
    /// Lets thieves leave this worker's jobs of joins alone for some microseconds, or until
    /// [`lower_shield`](Self::lower_shield). For a platform that expects the call to be over by
    /// then.
    ///
    /// Without a [clock](Platform::now) it has no effect.
    ///
    /// # Complexity
    /// Two accesses to memory that thieves read.
    #[inline]
    pub fn raise_shield(&self) {
        self.shared().shield.raise();
    }

    /// Lets thieves steal again. Returns whether a thief has broken the shield, because the time
    /// was over.
    #[inline]
    pub fn lower_shield(&self) -> bool {
        self.shared().shield.lower()
    }

    /// Whether this worker leaves the jobs of another one alone for now.
    #[inline]
    pub(crate) fn respects_shield(&self, victim: usize) -> bool {
        let shared = &self.registry().workers()[victim];
        match shared.shield.call() {
            None => false,
            Some(call) => !shared.may_hold_posted() && self.watch_call(shared, victim, call),
        }
    }

    /// Watches a call if this worker watches no other. Returns whether it is still shielded.
    #[cold]
    fn watch_call(&self, shared: &WorkerShared<P>, victim: usize, call: ShieldedCall) -> bool {
        let Some(now) = P::now() else {
            return false;
        };
        let watched = Watched {
            victim,
            call,
            since: now,
        };
        match self.watch.0.get() {
            Some(old) if old.victim == victim && old.call == call => {
                if now.saturating_sub(old.since) < SHIELDED_FOR {
                    return true;
                }
                shared.shield.break_for(call);
                self.watch.0.set(None);
                false
            }
            Some(old) if self.is_shielded_still(old) => true,
            _ => {
                self.watch.0.set(Some(watched));
                true
            }
        }
    }

    fn is_shielded_still(&self, watched: Watched) -> bool {
        let shield = &self.registry().workers()[watched.victim].shield;
        shield.call() == Some(watched.call)
    }
}
