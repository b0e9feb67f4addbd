//! The state of a future that the workers of a pool poll.

use core::fmt;

use crate::primitive::{AtomicU8, Ordering};

#[cfg(test)]
mod tests;

/// What a future does, in the lowest bits of its state.
const PHASE: u8 = 0b11;
/// It waits to be woken.
const IDLE: u8 = 0;
/// It was woken, and waits for a poll.
const DUE: u8 = 1;
/// A worker polls it.
const POLLING: u8 = 2;
/// A worker polls it, and it was woken meanwhile.
const WOKEN: u8 = 3;
/// Beside the phase: it has ended, and was dropped.
const DONE: u8 = 1 << 2;
/// Beside the phase: a queue has a reference to it. A future that is due always has one there.
const IN_QUEUE: u8 = 1 << 3;
/// Beside the phase: the owner of its handle waits until it is due or has ended.
const AWAITED: u8 = 1 << 4;

/// Says who may poll a future that the workers of a pool run, and when it is put into a queue.
///
/// For platforms whose jobs are futures. Each wake-up that finds the future idle makes it due; one
/// that comes while a worker polls it makes that worker do so. A future that is due is in a queue,
/// by one reference. The owner of a [handle](crate::HandleState) may poll it meanwhile. Then the
/// reference is out of date, and [`begin_queued`](Self::begin_queued) refuses it, unless the future
/// was woken again: then the same reference serves once more.
///
/// The future belongs to the thread that one of the two `begin` has answered true, until that calls
/// [`end`](Self::end) or [`finish`](Self::finish).
///
/// # Examples
/// ```
/// let state = pool_core::PollState::new();
/// assert!(!state.wake().queue, "its maker has put it into a queue");
/// assert!(state.begin_queued(), "the caller polls the future");
/// assert!(!state.end().queue, "it was not woken meanwhile");
/// assert!(state.wake().queue, "the caller puts it into a queue");
/// ```
pub struct PollState(AtomicU8);

/// What a thread must do after it has called an operation of a [`PollState`].
///
/// # Examples
/// ```
/// use std::cell::RefCell;
///
/// use pool_core::{PollDuties, PollState};
///
/// /// Queues the number of a future, if no queue has it.
/// fn queue(duties: PollDuties, future: usize, queue: &RefCell<Vec<usize>>) {
///     if duties.queue {
///         queue.borrow_mut().push(future);
///     }
/// }
///
/// let (state, list) = (PollState::new(), RefCell::new(vec![0]));
/// queue(state.wake(), 0, &list);
/// assert_eq!(*list.borrow(), [0], "it was there");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a future that no thread queues is lost"]
pub struct PollDuties {
    /// It puts a reference to the future into a queue.
    pub queue: bool,
    /// It tells the owner of the handle, who [waits](PollState::wait_for_change), that the future
    /// is due or has ended.
    pub tell: bool,
}

impl PollDuties {
    const NONE: Self = Self {
        queue: false,
        tell: false,
    };

    /// Those of the thread that has made a future due whose state was this.
    fn of_due(before: u8) -> Self {
        Self {
            queue: before & IN_QUEUE == 0,
            tell: before & AWAITED != 0,
        }
    }
}

impl fmt::Debug for PollState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        let state = self.0.load(Ordering::Relaxed);
        let name = match state & PHASE {
            _ if state & DONE != 0 => "done",
            IDLE => "idle",
            DUE => "due",
            POLLING => "polling",
            _ => "polling and woken",
        };
        f.debug_tuple("PollState").field(&name).finish()
    }
}

impl PollState {
    const_unless_loom! {
        /// Creates the state of a future that its creator puts into a queue.
        #[must_use]
        pub fn new() -> Self {
            Self(AtomicU8::new(DUE | IN_QUEUE))
        }
    }

    /// Wakes the future.
    pub fn wake(&self) -> PollDuties {
        let woken = self
            .0
            // Ordering: AcqRel. Release pairs with the Acquire of `begin`, or with that of `end`:
            // what the caller did before is visible to the next poll. Also where nothing changes: a
            // wake-up of a future that is due must be seen by the poll that is to come. Acquire
            // pairs with the Release of `wait_for_change`: the caller finds whom to tell. Relaxed
            // on failure, which means that it is done.
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |state| {
                let phase = state & PHASE;
                match phase {
                    _ if state & DONE != 0 => None,
                    IDLE | DUE => Some(DUE | IN_QUEUE),
                    _ => Some(state - phase + WOKEN),
                }
            });
        match woken {
            Ok(before) if matches!(before & PHASE, IDLE | DUE) => PollDuties::of_due(before),
            _ => PollDuties::NONE,
        }
    }

    /// Begins a poll, for a thread that has the handle. Returns false if the future is not due: it
    /// waits, or is being polled, or has ended.
    #[must_use = "the future is not the caller's unless this is true"]
    pub fn begin(&self) -> bool {
        self.begin_and_remove(0)
    }

    /// Begins a poll as [`begin`](Self::begin) does, for a thread that has taken the reference from
    /// the queue.
    #[must_use = "the future is not the caller's unless this is true"]
    pub fn begin_queued(&self) -> bool {
        self.begin_and_remove(IN_QUEUE)
    }

    fn begin_and_remove(&self, flag: u8) -> bool {
        let is_due = |state: u8| state & PHASE == DUE;
        let begun = self
            .0
            // Ordering: Acquire pairs with the Release of `wake`, for what was done before the
            // wake-up, and with that of `end`, for the future. Where the future is not due, an
            // exchange that removes the flag continues the release sequences of both.
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
                let begun = if is_due(state) {
                    state - DUE + POLLING
                } else {
                    state
                };
                (begun & !flag != state).then_some(begun & !flag)
            });
        begun.is_ok_and(is_due)
    }

    /// Ends a poll after which the future waits, or is due because it was woken meanwhile.
    pub fn end(&self) -> PollDuties {
        let ended = self
            .0
            // Ordering: AcqRel. Release pairs with the Acquire of the next `begin`, for the future.
            // An exchange also continues the release sequence of a wake-up, so that the next
            // `begin` acquires what came before that. Acquire as in `wake`.
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |state| {
                Some(if state & PHASE == WOKEN {
                    DUE | IN_QUEUE
                } else {
                    state - POLLING + IDLE
                })
            });
        match ended {
            Ok(before) if before & PHASE == WOKEN => PollDuties::of_due(before),
            _ => PollDuties::NONE,
        }
    }

    /// Ends the last poll. The future was dropped, its result is there, and it is never queued
    /// again.
    pub fn finish(&self) -> PollDuties {
        // Ordering: AcqRel. Release pairs with the Acquire of `wait_for_change`, for the result.
        // Acquire as in `wake`.
        let before = self.0.fetch_or(DONE, Ordering::AcqRel);
        PollDuties {
            queue: false,
            tell: before & AWAITED != 0,
        }
    }

    /// Requests that the owner of the handle be notified, once, when the future is due or has
    /// ended. The owner must have left its waiter before. Returns false if there is nothing to wait
    /// for, because the future is due or has ended.
    #[must_use = "no thread tells the caller unless this is true"]
    pub fn wait_for_change(&self) -> bool {
        // Ordering: AcqRel. Release pairs with the Acquire of the calls that notify: they find the
        // waiter. Acquire pairs with the Release of `finish`, for the result.
        let before = self.0.fetch_or(AWAITED, Ordering::AcqRel);
        before & DONE == 0 && before & PHASE != DUE
    }
}

impl Default for PollState {
    fn default() -> Self {
        Self::new()
    }
}
