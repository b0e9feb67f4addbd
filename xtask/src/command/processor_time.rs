//! How long programs kept processors busy.

use std::time::{Duration, Instant};

/// Returns the processor time of all programs that this one has run and that have ended.
#[cfg(unix)]
pub(crate) fn processor_time_of_children() -> Option<Duration> {
    use nix::sys::{
        resource::{UsageWho, getrusage},
        time::TimeValLike,
    };
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let time = usage.user_time() + usage.system_time();
    Some(Duration::from_micros(
        time.num_microseconds().unsigned_abs(),
    ))
}

/// Returns None: the system does not tell.
#[cfg(not(unix))]
pub(crate) fn processor_time_of_children() -> Option<Duration> {
    None
}

/// Times what this program does, and the programs that it runs meanwhile.
pub(crate) struct Stopwatch {
    start: Instant,
    processor_time: Option<Duration>,
}

impl Stopwatch {
    /// Starts to measure.
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            processor_time: processor_time_of_children(),
        }
    }

    /// Returns for how many seconds it runs.
    pub(crate) fn seconds(&self) -> u64 {
        self.start.elapsed().as_secs()
    }

    /// Returns how long it took, for a report, and how much of the processors, if the system tells.
    pub(crate) fn read(&self) -> String {
        let seconds = self.seconds();
        let used = processor_time_of_children().zip(self.processor_time);
        used.map_or(format!("{seconds} s"), |(now, before)| {
            format!("{seconds} s, {} s of processors", (now - before).as_secs())
        })
    }
}
