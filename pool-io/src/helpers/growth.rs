//! When a pool gets another helper: all helpers are blocked for a long time, and operations wait
//! for one.
//!
//! A call that ends soon, such as a read from a disk, does not justify another thread: the queue
//! advances. A call that blocks without a limit, such as the `open` of a FIFO, must not prevent
//! other calls. The system does not report which kind a call is, so the poller waits for a moment
//! and checks whether a helper has taken an operation.

use std::time::{Duration, Instant};

use super::{MOST_HELPERS, State};

/// How long no operation leaves the queue before another helper starts.
const STALL: Duration = Duration::from_millis(10);

impl State {
    /// Whether the poller should watch the queue but does not do so yet.
    pub(super) fn needs_watch(&self) -> bool {
        !self.is_watched && self.is_short_of_helpers()
    }

    /// Whether an operation waits for a helper, and there may be more helpers.
    fn is_short_of_helpers(&self) -> bool {
        self.queue.len() > self.idle && self.helpers < MOST_HELPERS
    }
}

/// How the poller watches the queue.
#[derive(Default)]
pub(super) struct Watch {
    /// When an operation was last seen to leave the queue, and how many had left it by then.
    last: Option<(Instant, usize)>,
}

impl Watch {
    /// Whether the helpers are stalled now, so that another one should start.
    pub(super) fn is_stalled(&mut self, state: &mut State, now: Instant) -> bool {
        state.is_watched = state.is_short_of_helpers();
        if !state.is_watched {
            self.last = None;
            return false;
        }
        let (since, taken) = *self.last.get_or_insert((now, state.taken));
        let is_stalled = taken == state.taken && now - since >= STALL;
        if is_stalled || taken != state.taken {
            self.last = Some((now, state.taken));
        }
        is_stalled
    }

    /// Returns the milliseconds until the poller must look again, or -1 if it need not.
    pub(super) fn milliseconds(&self) -> libc::c_int {
        match self.last {
            Some(_) => STALL.as_millis() as libc::c_int,
            None => -1,
        }
    }
}

#[cfg(test)]
mod tests;
