//! How long programs kept processors busy.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use super::lock;
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

/// How long a program kept processors busy until now, and whether it has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// With all its threads.
    pub(crate) own: Duration,
    /// Of the programs that it has started and that have ended, and of those that these have
    /// started.
    pub(super) descendants: Duration,
    pub(super) has_ended: bool,
}

impl Usage {
    /// Returns that of a program which this one has started, until this one waits for its end.
    #[cfg(target_os = "linux")]
    pub(super) fn of(process: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// Returns None: the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn of(_process: u32) -> Option<Self> {
        None
    }

    /// Parses the line with which Linux describes a process.
    #[cfg(any(target_os = "linux", test))]
    fn parse(line: &str) -> Option<Self> {
        /// The unit of times, on every architecture.
        const TICKS_PER_SECOND: u64 = 100;
        /// What stands there of a process that has ended and was not waited for.
        const ZOMBIE: &str = "Z";
        // The second field is a name in parentheses, which may contain anything.
        let (_, fields) = line.rsplit_once(')')?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        // The state is the third field. The times, each in user mode and in the kernel, are the
        // 14th and 15th, and those of descendants the 16th and 17th.
        let time = |fields: &[&str]| -> Option<Duration> {
            let ticks = fields.iter().map(|field| field.parse::<u64>().ok());
            let ticks: u64 = ticks.sum::<Option<u64>>()?;
            Some(Duration::from_millis(1000 / TICKS_PER_SECOND * ticks))
        };
        Some(Self {
            own: time(fields.get(11..13)?)?,
            descendants: time(fields.get(13..15)?)?,
            has_ended: *fields.first()? == ZOMBIE,
        })
    }

    pub(super) fn total(&self) -> Duration {
        self.own + self.descendants
    }
}

/// The processor time of the programs that each speaker has run and that have ended.
static COUNTED: Mutex<Vec<(Speaker, Duration)>> = Mutex::new(Vec::new());

/// Counts the processor time of a program that has ended, for this thread's lane.
pub(super) fn count(time: Duration) {
    let here = Speaker::here();
    let mut counted = lock(&COUNTED);
    match counted.iter_mut().find(|(speaker, _)| *speaker == here) {
        Some((_, sum)) => *sum += time,
        None => counted.push((here, time)),
    }
}

/// Returns what was counted for this thread's lane.
fn counted() -> Duration {
    let here = Speaker::here();
    let counted = lock(&COUNTED);
    let own = counted.iter().find(|(speaker, _)| *speaker == here);
    own.map_or(Duration::ZERO, |&(_, sum)| sum)
}

/// Times what this program does, and the programs that it runs meanwhile.
pub(crate) struct Stopwatch {
    start: Instant,
    processor_time: Option<Duration>,
}

impl Stopwatch {
    /// Starts to measure, for this thread's lane.
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            processor_time: processor_time_of_lane(),
        }
    }

    /// Returns how long it took, for a report, and for how long programs kept processors busy, if
    /// the system tells.
    pub(crate) fn read(&self) -> String {
        let used = processor_time_of_lane().zip(self.processor_time);
        self.read_with(used.map(|(now, before)| now - before))
    }

    /// Returns how long it took, for a report, and for how long this kept processors busy.
    pub(super) fn read_with(&self, processor_time: Option<Duration>) -> String {
        let seconds = self.start.elapsed().as_secs();
        processor_time.map_or(format!("{seconds} s"), |used| {
            format!("{seconds} s, {} s of processors", used.as_secs())
        })
    }
}

/// Returns the processor time of the programs of this thread's lane that have ended.
fn processor_time_of_lane() -> Option<Duration> {
    if Speaker::here() == Speaker::Alone {
        return processor_time_of_children();
    }
    cfg!(target_os = "linux").then(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_of_a_process() {
        let line = "7 (a) b) (c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 1000 200 20 0 1 0";
        let usage = Usage::parse(line).unwrap();
        assert_eq!(usage.own, Duration::from_secs(2));
        assert_eq!(usage.total(), Duration::from_secs(14));
        assert!(!usage.has_ended);
        let zombie = line.replace(" S ", " Z ");
        assert!(Usage::parse(&zombie).unwrap().has_ended);
        assert!(Usage::parse("7 (a) S 1 7").is_none());
    }

    /// Otherwise a command of cargo would count without the compilers and the tests that it runs.
    #[test]
    #[cfg(target_os = "linux")]
    fn programs_of_programs_count_for_their_lane() {
        let spin = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let shell = format!("sh -c '{spin}'; true");
        std::thread::spawn(move || {
            Speaker::Lane("of another test").speak();
            assert_eq!(counted(), Duration::ZERO);
            Speaker::Lane("of this test").speak();
            crate::command::Step::new("sh", &["-c", &shell])
                .run()
                .unwrap();
            assert!(counted() >= Duration::from_millis(20), "{:?}", counted());
            Speaker::Lane("of another test").speak();
            assert_eq!(counted(), Duration::ZERO);
        })
        .join()
        .unwrap();
    }
}
