//! What this process has used.

use std::time::Duration;

/// What this process has used until a moment, with all its threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) processor: Duration,
    /// How often a thread went to sleep, each of which is a wake-up too.
    pub(crate) sleeps: u64,
}

impl Usage {
    /// Returns what was used until now, if the system tells.
    #[cfg(unix)]
    pub(crate) fn now() -> Option<Self> {
        use nix::sys::{
            resource::{UsageWho, getrusage},
            time::TimeValLike,
        };
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
        let time = usage.user_time() + usage.system_time();
        Some(Self {
            processor: Duration::from_micros(time.num_microseconds().unsigned_abs()),
            sleeps: u64::try_from(usage.voluntary_context_switches()).unwrap_or(0),
        })
    }

    /// Returns None: the system does not tell.
    #[cfg(not(unix))]
    pub(crate) fn now() -> Option<Self> {
        None
    }
}
