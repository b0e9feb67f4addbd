//! How long programs kept processors busy.

use std::time::{Duration, Instant};

use crate::speaker::Speaker;

/// Returns the processor time of all programs that this one has run and that have ended.
#[cfg(unix)]
fn processor_time_of_children() -> Option<Duration> {
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
fn processor_time_of_children() -> Option<Duration> {
    None
}

/// Returns the processor time of a running program, with all its threads.
#[cfg(target_os = "linux")]
pub(super) fn processor_time_of(process: u32) -> Option<Duration> {
    /// The unit of this file, on every architecture.
    const TICKS_PER_SECOND: u64 = 100;
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its second field is a name in parentheses, which may contain anything; the time in user mode
    // is the 14th, and that in the kernel the 15th.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(1000 / TICKS_PER_SECOND * ticks))
}

/// Returns None: the system does not tell.
#[cfg(not(target_os = "linux"))]
pub(super) fn processor_time_of(_process: u32) -> Option<Duration> {
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

    /// Returns how long it took, for a report, and how much of the processors, if the system tells
    /// and no other lane runs meanwhile.
    pub(crate) fn read(&self) -> String {
        let seconds = self.seconds();
        let used = processor_time_of_children().zip(self.processor_time);
        let used = used.filter(|_| Speaker::here() == Speaker::Alone);
        used.map_or(format!("{seconds} s"), |(now, before)| {
            format!("{seconds} s, {} s of processors", (now - before).as_secs())
        })
    }
}
