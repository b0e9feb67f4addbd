//! What the process has used of the machine.

use std::time::Duration;

/// So far, or since a moment.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    /// Processor time.
    pub(crate) cpu: Duration,
    /// How often a thread gave its processor up, to sleep or to let others run.
    pub(crate) switches: u64,
}

impl Usage {
    pub(crate) fn since(before: Self) -> Self {
        let now = Self::now();
        Self {
            cpu: now.cpu - before.cpu,
            switches: now.switches - before.switches,
        }
    }

    #[cfg(unix)]
    pub(crate) fn now() -> Self {
        use nix::sys::{
            resource::{UsageWho, getrusage},
            time::TimeVal,
        };

        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("it has no reason to fail");
        let duration = |time: TimeVal| {
            Duration::from_secs(time.tv_sec() as u64) + Duration::from_micros(time.tv_usec() as u64)
        };
        Self {
            cpu: duration(usage.user_time()) + duration(usage.system_time()),
            switches: usage.voluntary_context_switches() as u64,
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn now() -> Self {
        unreachable!("no caller asks for what is missing")
    }
}
