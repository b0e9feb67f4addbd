//! Calls of guests that end before a worker that is woken for them can help.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::{Duration, Instant},
};

use super::Crowd;
use crate::platform::WorkerThread;

#[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
mod tests;

/// How long a call delays its wake-up: about as long as a wake-up takes the thread that makes it.
const DELAY: Duration = Duration::from_micros(10);
/// The number of calls after a longer one that wake workers at once, before one delays its wake-up
/// again.
const CALLS_BETWEEN_TRIALS: u32 = 64;

/// A call that delays its wake-up looks at the clock at every fourth join. A look takes several
/// times as long as a join.
const JOINS_PER_LOOK: u32 = 4;

thread_local! {
    static CALL: Cell<Call> = const { Cell::new(Call::None) };
}

/// The call that this thread makes as a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    /// This thread is not a guest.
    None,
    /// The call is expected to be short, and has queued no job while workers slept.
    Begun,
    /// The call has delayed its wake-up since this moment, and has made this many joins since.
    Delays(Instant, u32),
    /// The call wakes a worker for each join, if one sleeps, and thieves steal from it at once.
    Wakes,
}

/// Decides whether the next call of a guest shares its jobs at once, or later if at all.
///
/// Waking a worker takes the caller ten microseconds. In many calls that is more than the rest of
/// the call takes, and the worker finds no job. So before a call wakes the first worker, it
/// continues for as long as a wake-up takes, and reads the clock at every fourth join meanwhile. A
/// call that ends before that wakes no worker. Workers that are awake leave its jobs alone for the
/// same time, see [`raise_shield`](WorkerThread::raise_shield). A longer call loses that time, at
/// most once in [`CALLS_BETWEEN_TRIALS`] calls: that many calls after it share their jobs at once.
///
/// If a call that delays makes no further join, its job waits until the [watchdog](super::Watchdog)
/// finds it. So calls delay wake-ups only while a worker is the watchdog. A worker takes that duty
/// when it falls asleep and the next call would delay.
pub(crate) struct ShortCalls {
    /// The number of calls that share their jobs at once before one tries whether it is short.
    until_trial: AtomicU32,
    /// Whether a call has delayed its wake-up since the watchdog last checked.
    any_delayed: AtomicBool,
}

impl ShortCalls {
    pub(super) const fn new() -> Self {
        Self {
            until_trial: AtomicU32::new(CALLS_BETWEEN_TRIALS),
            any_delayed: AtomicBool::new(false),
        }
    }

    /// Whether the next call is expected to be short.
    pub(super) fn are_expected(&self) -> bool {
        // Ordering: Relaxed here and below. These values only affect the time that calls take.
        self.until_trial.load(Ordering::Relaxed) == 0
    }

    /// Records that a call was long, or that a job has waited for a long time.
    pub(super) fn expect_long(&self) {
        self.until_trial
            .store(CALLS_BETWEEN_TRIALS, Ordering::Relaxed);
    }

    /// Counts a call that begins, and returns its state.
    fn begin(&self) -> Call {
        match self.until_trial.load(Ordering::Relaxed) {
            0 => Call::Begun,
            until_trial => {
                // Two threads may both count the last call. Then one of them is not counted.
                self.until_trial.store(until_trial - 1, Ordering::Relaxed);
                Call::Wakes
            }
        }
    }

    /// Makes the next call expected to be short.
    #[cfg(all(test, any(target_os = "linux", target_os = "android"), not(miri)))]
    pub(super) fn expect_short(&self) {
        self.until_trial.store(0, Ordering::Relaxed);
    }

    /// Returns whether a call has delayed its wake-up since the last call of this function.
    pub(super) fn take_any_delayed(&self) -> bool {
        self.any_delayed.load(Ordering::Relaxed) && self.any_delayed.swap(false, Ordering::Relaxed)
    }

    /// Whether the call of this thread, if it is a guest, does not wake a worker yet. `is_watched`
    /// says whether a worker is the watchdog, which checks every ten milliseconds whether a job has
    /// waited for too long.
    fn delay_wake(&self, is_watched: impl FnOnce() -> bool) -> bool {
        let call = CALL.get();
        if matches!(call, Call::None | Call::Wakes) {
            return false;
        }
        let call = self.next_state(call, is_watched(), Instant::now);
        CALL.set(call);
        matches!(call, Call::Delays(..))
    }

    /// Returns the state of a call after one more of its joins.
    fn next_state(&self, call: Call, is_watched: bool, now: impl Fn() -> Instant) -> Call {
        let is_early = |start: Instant, joins: u32| {
            !(joins + 1).is_multiple_of(JOINS_PER_LOOK) || now() < start + DELAY
        };
        match call {
            Call::Begun if is_watched => {
                self.any_delayed.store(true, Ordering::Relaxed);
                Call::Delays(now(), 0)
            }
            Call::Delays(start, joins) if is_watched && is_early(start, joins) => {
                Call::Delays(start, joins + 1)
            }
            Call::Delays(..) => {
                self.expect_long();
                Call::Wakes
            }
            Call::None | Call::Begun | Call::Wakes => call,
        }
    }
}

impl Crowd {
    /// Whether the calling guest leaves its wake-up to its next join, see [`ShortCalls`].
    pub(crate) fn delays_wake(&self) -> bool {
        self.short_calls.delay_wake(|| self.is_watched())
    }
}

/// Calls a closure on a thread that is a worker, perhaps as a guest.
#[inline]
pub(crate) fn in_call<R>(worker: &WorkerThread, closure: impl FnOnce() -> R) -> R {
    // A call within a call is a part of it.
    if !worker.is_guest() || CALL.get() != Call::None {
        return closure();
    }
    let Some(crowd) = &worker.registry().data().crowd else {
        return closure();
    };
    let calls = &crowd.short_calls;
    let call = calls.begin();
    let _end = EndOfCall { worker, calls };
    CALL.set(call);
    if call == Call::Begun {
        worker.raise_shield();
    }
    closure()
}

/// Ends the call of a guest when dropped, also by a panic.
struct EndOfCall<'w> {
    worker: &'w WorkerThread,
    calls: &'w ShortCalls,
}

impl Drop for EndOfCall<'_> {
    #[inline]
    fn drop(&mut self) {
        let was_long = match CALL.replace(Call::None) {
            Call::None | Call::Wakes => false,
            Call::Begun => self.worker.lower_shield(),
            // The time may have passed after the last join, or a thief may have come.
            Call::Delays(start, _) => self.worker.lower_shield() || start.elapsed() >= DELAY,
        };
        if was_long {
            self.calls.expect_long();
        }
    }
}
