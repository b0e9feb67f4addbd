//! The parent of all processes on this machine.

mod children;

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    num::NonZeroUsize,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

pub use children::Children;

use crate::{ClusterError, Event, Report, message::Start, read_hosts};

/// How often the parent looks whether a process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long the parent looks for the process that ended first, when another one says that it lost a
/// connection.
const TIME_FOR_CULPRIT: Duration = Duration::from_secs(3);

/// What to run on this machine.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that is each process: this one.
    pub program: PathBuf,
    /// The number of processes.
    pub processes: usize,
    /// The tree that all processes share, or that of each process.
    pub trees: Vec<PathBuf>,
    /// The number of workers in each pool; 0 is the share of each process in the processors.
    pub threads: usize,
    /// The directory of lists of digests, if an interrupted run is to be continued.
    pub lists: Option<PathBuf>,
    /// A file with the addresses, instead of free ports that the system chooses.
    pub hosts: Option<PathBuf>,
    /// For tests of faults: the processes wait forever when they have hashed this many files.
    pub hold_after: Option<u64>,
    /// Only this process does so.
    pub held: Option<usize>,
}

impl Options {
    /// Creates the options for processes that share a tree.
    #[must_use]
    pub fn new(program: PathBuf, processes: usize, tree: PathBuf) -> Self {
        Self {
            program,
            processes,
            trees: vec![tree],
            threads: 0,
            lists: None,
            hosts: None,
            hold_after: None,
            held: None,
        }
    }

    /// Returns how many workers each pool has.
    #[must_use]
    pub fn threads_of_each(&self) -> usize {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        match self.threads {
            0 => (processors / self.processes.max(1)).max(1),
            threads => threads,
        }
    }

    /// Finds what would be wrong in every process, before one is started.
    fn check(&self) -> Result<(), ClusterError> {
        if ![1, self.processes].contains(&self.trees.len()) {
            return Err(ClusterError::Trees {
                trees: self.trees.len(),
                processes: self.processes,
            });
        }
        let mut earlier: Vec<(&PathBuf, PathBuf)> = Vec::new();
        for path in &self.trees {
            let real = path.canonicalize().map_err(|source| ClusterError::Tree {
                path: path.clone(),
                source,
            })?;
            let overlaps = |other: &PathBuf| real.starts_with(other) || other.starts_with(&real);
            if let Some((other, _)) = earlier.iter().find(|(_, other)| overlaps(other)) {
                return Err(ClusterError::Overlap {
                    trees: [PathBuf::clone(other), path.clone()],
                });
            }
            earlier.push((path, real));
        }
        if let Some(hosts) = &self.hosts {
            read_hosts(hosts, self.processes)?;
        }
        Ok(())
    }
}

/// Starts the processes, and waits until all have ended. Returns the report of the first one.
///
/// Calls `on_event` with all that the processes say, and with the processes themselves.
///
/// # Errors
/// If the options are wrong, or a process does not start or ends early. The other processes have
/// been ended then, and none is left.
pub fn run(
    options: &Options,
    mut on_event: impl FnMut(usize, &Event, &mut Children),
) -> Result<Report, ClusterError> {
    options.check()?;
    let mut children = Children::start(options)?;
    let mut addresses = vec![None; options.processes];
    let mut report = None;
    // Liveness: a process ends, or says something. Processes that wait for each other at the start
    // give up.
    loop {
        // Asked first: what a process said before it ended is in the queue then.
        let has_ended = children.all_succeeded()?;
        let mut limit = POLL_INTERVAL;
        while let Some((process, event)) = children.next_event(has_ended, limit) {
            // The others only if they are here already: the processes may say more and more.
            limit = Duration::ZERO;
            on_event(process, &event, &mut children);
            match event {
                Event::Listening(address) => {
                    addresses[process] = Some(address);
                    if let Some(addresses) = addresses.iter().cloned().collect() {
                        let run = RandomState::new().build_hasher().finish();
                        children.tell(&Start { run, addresses })?;
                    }
                }
                Event::Report(found) => report = Some(*found),
                Event::Total { .. } | Event::Done { .. } => {}
            }
        }
        if has_ended {
            return report.ok_or(ClusterError::NoReport);
        }
        if children.has_failed() {
            return Err(fail(children)?);
        }
    }
}

/// Finds the process that ended first, and ends the others.
fn fail(mut children: Children) -> Result<ClusterError, ClusterError> {
    let deadline = Instant::now() + TIME_FOR_CULPRIT;
    while children.have_only_lost_peers() && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
        children.all_succeeded()?;
    }
    Ok(children.end_all())
}
