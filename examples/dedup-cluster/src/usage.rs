//! What this process has used.

use std::time::Duration;

/// Returns the processor time of this process, with all its threads, if the system tells.
#[cfg(unix)]
pub(crate) fn processor_time() -> Option<Duration> {
    use nix::sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    };
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let time = usage.user_time() + usage.system_time();
    Some(Duration::from_micros(
        time.num_microseconds().unsigned_abs(),
    ))
}

/// Returns None: the system does not tell.
#[cfg(not(unix))]
pub(crate) fn processor_time() -> Option<Duration> {
    None
}
