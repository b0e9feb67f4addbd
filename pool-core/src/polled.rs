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
/// Beside [`IDLE`]: the last poll was outside isolated calls, so workers get what the future waits
/// for only from the queues.
const LEFT_TO_QUEUES: u8 = 1 << 5;

/// Says who may poll a future that the workers of a pool run, and when it is put into a queue.
///
/// For platforms whose jobs are futures. Each wake-up that finds the future idle makes it due; one
/// that comes while a worker polls it makes that worker do so. A future that is due is in a queue,
/// by one reference. The owner of a [handle](crate::HandleState) may poll it meanwhile. Then the
/// reference is out of date, and [`begin_queued`](Self::begin_queued) refuses it, unless the future
/// was woken again: then the same reference serves once more.
///
/// An owner of the handle that takes nothing from the queues must help with what the future waits
/// for: other jobs, which the future reaches in a poll on that owner's thread alone. So the owner
/// also polls a future that waits, if its last poll was elsewhere. See
/// [`begin_isolated`](Self::begin_isolated).
///
/// The future belongs to the thread for which a `begin` method returned true, until that thread
/// calls an `end` method, or [`finish`](Self::finish).
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
    /// It tells the owner of the handle, who [waits](PollState::wait_for_change), that it may begin
    /// a poll, or that the future has ended.
    pub tell: bool,
}

impl PollDuties {
    const NONE: Self = Self {
        queue: false,
        tell: false,
    };

    /// Returns the duties of a thread that made a future due; `before` is the previous state.
    fn of_due(before: u8) -> Self {
        Self {
            queue: before & IN_QUEUE == 0,
            tell: before & AWAITED != 0,
        }
    }
}

fn is_due(state: u8) -> bool {
    state & PHASE == DUE
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
        self.begin_and_remove(is_due, 0)
    }

    /// Begins a poll as [`begin`](Self::begin) does, for a thread that takes nothing from the
    /// queues. Returns true also if the future waits, and its last poll was ended by
    /// [`end`](Self::end).
    ///
    /// # Examples
    /// ```
    /// let state = pool_core::PollState::new();
    /// assert!(state.begin_queued());
    /// let _ = state.end(); // other jobs that the future waits for are in queues
    /// assert!(state.begin_isolated(), "the caller runs them in this poll");
    /// let _ = state.end_isolated();
    /// assert!(!state.begin_isolated());
    /// ```
    #[must_use = "the future is not the caller's unless this is true"]
    pub fn begin_isolated(&self) -> bool {
        self.begin_and_remove(|state| is_due(state) || state & LEFT_TO_QUEUES != 0, 0)
    }

    /// Begins a poll as [`begin`](Self::begin) does, for a thread that has taken the reference from
    /// the queue.
    #[must_use = "the future is not the caller's unless this is true"]
    pub fn begin_queued(&self) -> bool {
        self.begin_and_remove(is_due, IN_QUEUE)
    }

    fn begin_and_remove(&self, may_begin: impl Fn(u8) -> bool, flag: u8) -> bool {
        let begun = self
            .0
            // Ordering: Acquire pairs with the Release of `wake`, for what was done before the
            // wake-up, and with that of `end`, for the future. Where the future is not due, an
            // exchange that removes the flag continues the release sequences of both.
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, |state| {
                let begun = if may_begin(state) {
                    (state & !(PHASE | LEFT_TO_QUEUES)) + POLLING
                } else {
                    state
                };
                (begun & !flag != state).then_some(begun & !flag)
            });
        begun.is_ok_and(may_begin)
    }

    /// Ends a poll after which the future waits, or is due because it was woken meanwhile. If the
    /// owner of the handle [waits](Self::wait_for_change), it must help from now on.
    pub fn end(&self) -> PollDuties {
        self.end_poll(LEFT_TO_QUEUES)
    }

    /// Ends a poll as [`end`](Self::end) does, on a thread that takes nothing from the queues: jobs
    /// that the future waits for, and that no other thread had begun, were run in the poll, or will
    /// wake the future when they can continue.
    pub fn end_isolated(&self) -> PollDuties {
        self.end_poll(0)
    }

    fn end_poll(&self, flag: u8) -> PollDuties {
        let ended = self
            .0
            // Ordering: AcqRel. Release pairs with the Acquire of the next `begin`, for the future.
            // An exchange also continues the release sequence of a wake-up, so that the next
            // `begin` acquires what came before that. Acquire as in `wake`.
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, |state| {
                Some(match state & PHASE {
                    WOKEN => DUE | IN_QUEUE,
                    _ if flag == 0 => state - POLLING + IDLE,
                    _ => (state & IN_QUEUE) + IDLE + flag,
                })
            });
        match ended {
            Ok(before) if before & PHASE == WOKEN => PollDuties::of_due(before),
            Ok(before) if flag != 0 => PollDuties {
                queue: false,
                tell: before & AWAITED != 0,
            },
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

    /// Requests that the owner of the handle, which takes nothing from the queues, be notified,
    /// once, when it may [begin](Self::begin_isolated) a poll or the future has ended. The owner
    /// must have left its waiter before. Returns false if that is so already.
    #[must_use = "no thread tells the caller unless this is true"]
    pub fn wait_for_change(&self) -> bool {
        // Ordering: AcqRel. Release pairs with the Acquire of the calls that notify: they find the
        // waiter. Acquire pairs with the Release of `finish`, for the result.
        let before = self.0.fetch_or(AWAITED, Ordering::AcqRel);
        before & (DONE | LEFT_TO_QUEUES) == 0 && !is_due(before)
    }
}

impl Default for PollState {
    fn default() -> Self {
        Self::new()
    }
}
