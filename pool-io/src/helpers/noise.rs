//! Descriptors that are ready all the time, although their transfers would block.
//!
//! One example is a socket that keeps errors in a queue (`IP_RECVERR`) until its user reads the
//! queue: each `poll` reports the error at once, and no transfer returns it. So the poller looks at
//! such descriptors only from time to time.

use std::time::{Duration, Instant};

/// How long the poller omits noisy descriptors after it has polled them.
const PAUSE: Duration = Duration::from_millis(1);

/// When the poller polls noisy descriptors.
#[derive(Default)]
pub(super) struct Noise {
    last: Option<Instant>,
    /// Whether the poller omits noisy descriptors this time.
    is_pause: bool,
    /// Whether it has omitted one.
    has_left_out: bool,
}

impl Noise {
    /// Decides whether noisy descriptors are polled this time.
    pub(super) fn begin(&mut self, now: Instant) {
        self.is_pause = self.last.is_some_and(|last| now - last < PAUSE);
        self.has_left_out = false;
        if !self.is_pause {
            self.last = None;
        }
    }

    /// Prepares a noisy descriptor for a poll at this time.
    pub(super) fn prepare(&mut self, mut descriptor: libc::pollfd, now: Instant) -> libc::pollfd {
        if self.is_pause {
            self.has_left_out = true;
            // The system ignores negative descriptors.
            descriptor.fd = -1;
        } else {
            self.last = Some(now);
        }
        descriptor
    }

    /// Returns the milliseconds until the poller must look again. `milliseconds` is the value
    /// without noisy descriptors, and -1 means that there is no limit.
    pub(super) fn limit(&self, milliseconds: libc::c_int) -> libc::c_int {
        if self.has_left_out {
            PAUSE.as_millis() as libc::c_int
        } else {
            milliseconds
        }
    }
}
