//! The state of a future that the workers of a pool poll.

use core::fmt;

use crate::primitive::{AtomicU8, Ordering};

#[cfg(test)]
mod tests;

/// It waits to be woken.
const IDLE: u8 = 0;
/// It was woken, and is in a queue of its pool.
const QUEUED: u8 = 1;
/// A worker polls it.
const POLLING: u8 = 2;
/// A worker polls it, and it was woken meanwhile.
const WOKEN: u8 = 3;
/// It has ended, and was dropped.
const DONE: u8 = 4;

/// Says who may poll a future that the workers of a pool run, and when it is put into a queue.
///
/// For platforms whose jobs are futures. Each wake-up that finds the future idle queues it once;
/// one that comes while a worker polls it makes that worker queue it. A reference in a queue may be
/// out of date, because the owner of a [handle](crate::HandleState) has polled the future
/// meanwhile: then [`begin`](Self::begin) refuses it, unless the future was woken again.
///
/// The future belongs to the thread that `begin` has answered true, until that calls
/// [`end`](Self::end) or [`finish`](Self::finish).
///
/// # Examples
/// ```
/// let state = pool_core::PollState::new();
/// assert!(!state.wake(), "its maker has put it into a queue");
/// assert!(state.begin(), "the caller polls the future");
/// assert!(!state.end(), "it was not woken meanwhile");
/// assert!(state.wake(), "the caller puts it into a queue");
/// ```
pub struct PollState(AtomicU8);

impl fmt::Debug for PollState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let name = match self.0.load(Ordering::Relaxed) {
            IDLE => "idle",
            QUEUED => "queued",
            POLLING => "polling",
            WOKEN => "polling and woken",
            _ => "done",
        };
        f.debug_tuple("PollState").field(&name).finish()
    }
}

impl PollState {
    const_unless_loom! {
        /// Creates the state of a future that its maker puts into a queue.
        #[must_use]
        pub fn new() -> Self {
            Self(AtomicU8::new(QUEUED))
        }
    }

    /// Whether the future waits for a poll. For the owner of its handle, which polls it then.
    pub fn is_queued(&self) -> bool {
        // Ordering: Relaxed; `begin` decides.
        self.0.load(Ordering::Relaxed) == QUEUED
    }

    /// Wakes the future. If it returns true, the caller puts it into a queue.
    #[must_use = "a future that no thread queues is lost"]
    pub fn wake(&self) -> bool {
        let woken = self
            .0
            // Ordering: Release pairs with the Acquire of `begin`, or with that of `end`: what the
            // caller did before is visible to the next poll. Also where nothing changes: a wake-up
            // of a future that is queued must be seen by the poll that is to come. Relaxed on
            // failure, which means that it is done.
            .fetch_update(Ordering::Release, Ordering::Relaxed, |state| match state {
                IDLE | QUEUED => Some(QUEUED),
                POLLING | WOKEN => Some(WOKEN),
                _ => None,
            });
        woken == Ok(IDLE)
    }

    /// Begins a poll, for a thread that has taken the future from a queue, or has its handle.
    /// Returns false if the future is not queued: it is being polled, or has ended.
    #[must_use = "the future is not the caller's unless this is true"]
    pub fn begin(&self) -> bool {
        // Ordering: Acquire pairs with the Release of `wake`, for what was done before the wake-up,
        // and with that of `end`, for the future.
        let begun = self
            .0
            .compare_exchange(QUEUED, POLLING, Ordering::Acquire, Ordering::Relaxed);
        begun.is_ok()
    }

    /// Ends a poll after which the future waits. If it returns true, it was woken meanwhile, and
    /// the caller puts it into a queue.
    #[must_use = "a future that no thread queues is lost"]
    pub fn end(&self) -> bool {
        // Ordering: Release pairs with the Acquire of the next `begin`, for the future.
        let ended = self
            .0
            .compare_exchange(POLLING, IDLE, Ordering::Release, Ordering::Relaxed);
        if ended.is_ok() {
            return false;
        }
        // Ordering: Release as above. It also continues the release sequence of the wake-up, by an
        // exchange, so that the next `begin` acquires what came before that.
        self.0.swap(QUEUED, Ordering::Release);
        true
    }

    /// Ends the last poll. The future was dropped, and is never queued again.
    pub fn finish(&self) {
        // Ordering: Relaxed. No thread uses the future any more. On hardware a store would do; a
        // model needs an exchange to put this after wake-ups that have read the state before.
        self.0.swap(DONE, Ordering::Relaxed);
    }
}

impl Default for PollState {
    fn default() -> Self {
        Self::new()
    }
}
