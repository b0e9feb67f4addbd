//! What every worker of a pool is doing at one moment.

use std::{fmt, time::Duration};

use pool_core::accounting::State;
use pool_core::{WorkerMetrics, WorkerState};

use crate::{
    blocking::{sections::BlockedSection, table},
    metrics::metrics_of,
    platform::Registry,
    thread_pool::{ThreadPool, current::with_current_registry},
};

/// What a worker is doing at one moment.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// let activity = pool.install(|| pool.state().workers()[0].activity.clone());
/// assert!(matches!(activity, pool_std::Activity::Active | pool_std::Activity::Unknown));
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity {
    /// The worker runs a job, or its own code.
    Active,
    /// The worker is awake and searches for a job.
    Idle,
    /// The worker sleeps until another thread wakes it.
    Asleep,
    /// The worker is in a blocked section, see [`blocking`](crate::blocking()).
    Blocked(BlockedSection),
    /// No thread acts as the worker: none has arrived yet, or it has left.
    Absent,
    /// The worker is not blocked. More is not known, because the crate is built without the feature
    /// `metrics`.
    Unknown,
}

impl Activity {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Asleep => "asleep",
            Self::Blocked(_) => "blocked",
            Self::Absent => "absent",
            Self::Unknown => "unknown",
        }
    }
}

/// What is known about a worker at one moment.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// for worker in pool.state().workers() {
///     println!("{}: {:?}", worker.index, worker.activity);
/// }
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStatus {
    /// The number of the worker in its pool.
    pub index: usize,
    /// What the worker is doing.
    pub activity: Activity,
    /// For how long the worker has been blocked. None if it is not, or if there is no clock.
    pub blocked_for: Option<Duration>,
    /// About how many jobs are on the worker's deque.
    pub queued: usize,
    /// The number of threads that wait to be this worker again. The closure that each has passed to
    /// [`block_in_place`](crate::block_in_place()) has ended, but a spare thread is still running a
    /// job as the worker. The activity is that of the spare.
    pub reclaims: usize,
}

impl WorkerStatus {
    fn new(index: usize, activity: Activity, queued: usize, reclaims: usize) -> Self {
        let blocked_for = match &activity {
            Activity::Blocked(section) => section.since.map(|since| since.elapsed()),
            _ => None,
        };
        Self {
            index,
            activity,
            blocked_for,
            queued,
            reclaims,
        }
    }

    /// Returns the label of the section in which the worker is blocked, or None if it is not
    /// blocked.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// pool.install(|| {
    ///     let state = pool_std::blocking("a lock", |_| pool.state());
    ///     let workers = state.workers().iter();
    ///     let labels: Vec<_> = workers.filter_map(|worker| worker.label()).collect();
    ///     assert_eq!(labels, ["a lock"]);
    /// });
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        match &self.activity {
            Activity::Blocked(section) => Some(&section.label),
            _ => None,
        }
    }

    fn row(&self) -> [String; COLUMNS] {
        let note = match (self.label(), self.reclaims) {
            (Some(label), _) => label,
            (None, 0) => "",
            (None, _) => RECLAIMED,
        };
        [
            self.index.to_string(),
            self.activity.name().to_owned(),
            self.queued.to_string(),
            self.blocked_for.map_or_else(dash, milliseconds),
            // A label must not break the table.
            note.chars().map(printable).collect(),
        ]
    }
}

/// What the table says of a worker that another thread waits to be again.
const RECLAIMED: &str = "(after block_in_place, a thread waits for this job to end)";

const COLUMNS: usize = 5;
const HEADINGS: [&str; COLUMNS] = ["worker", "state", "queued", "blocked ms", "label"];

fn dash() -> String {
    "-".to_owned()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

fn printable(character: char) -> char {
    if character.is_control() {
        ' '
    } else {
        character
    }
}

/// What every worker of a pool is doing at one moment. Created by
/// [`ThreadPool::state`](crate::ThreadPool::state).
///
/// `{}` and `{:#?}` print a table with a row for each worker. The workers keep running while their
/// states are read, so the rows need not be consistent with each other. In a
/// [`DeadlockReport`](crate::DeadlockReport) they are consistent.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(1).build()?;
/// pool.install(|| {
///     pool_std::blocking("a message", |_| {
///         let state = pool.state();
///         assert_eq!(state.workers()[0].label(), Some("a message"));
///         println!("{state}");
///     });
/// });
/// assert_eq!(pool.state().blocked().count(), 0);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct PoolState {
    workers: Vec<WorkerStatus>,
    jobs_from_outside: usize,
}

impl PoolState {
    /// Describes a pool. `accounted` returns the state that the accounting has of a worker, and the
    /// episode in which it is blocked.
    pub(crate) fn of(
        registry: &Registry,
        accounted: impl Fn(usize) -> (State, Option<u32>),
    ) -> Self {
        let sections = &registry.data().sections;
        let metrics = metrics_of(registry);
        let worker = |(index, metrics): (usize, &WorkerMetrics)| {
            let (state, episode) = accounted(index);
            let section = episode.and_then(|episode| sections.get(index, episode));
            let activity = match (section, state, metrics.state) {
                (Some(section), ..) => Activity::Blocked(section),
                // Without a handler, the accounting is not told of sleeps.
                (None, State::Asleep, _) | (None, _, WorkerState::Asleep) => Activity::Asleep,
                (None, State::Absent, _) | (None, _, WorkerState::Absent) => Activity::Absent,
                (None, _, WorkerState::Active) => Activity::Active,
                (None, _, WorkerState::Idle) => Activity::Idle,
                _ => Activity::Unknown,
            };
            let reclaims = registry.data().spares.num_reclaims(index);
            WorkerStatus::new(index, activity, metrics.queued, reclaims)
        };
        let workers = metrics.workers().iter().enumerate().map(worker).collect();
        Self {
            workers,
            jobs_from_outside: metrics.injector_len().unwrap_or_default(),
        }
    }

    /// Returns what is known about each worker, in order of their numbers.
    #[must_use]
    pub fn workers(&self) -> &[WorkerStatus] {
        &self.workers
    }

    /// Returns the blocked workers.
    pub fn blocked(&self) -> impl Iterator<Item = &WorkerStatus> {
        let is_blocked = |worker: &&WorkerStatus| matches!(worker.activity, Activity::Blocked(_));
        self.workers.iter().filter(is_blocked)
    }

    /// Returns the sleeping workers.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// let state = pool.state();
    /// println!("{} of {} workers sleep", state.asleep().count(), state.workers().len());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn asleep(&self) -> impl Iterator<Item = &WorkerStatus> {
        let is_asleep = |worker: &&WorkerStatus| worker.activity == Activity::Asleep;
        self.workers.iter().filter(is_asleep)
    }

    /// Returns the approximate number of queued jobs from outside.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// assert_eq!(pool.state().jobs_from_outside(), 0);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn jobs_from_outside(&self) -> usize {
        self.jobs_from_outside
    }

    /// Prints the table in the alternate form, and otherwise one line with the name of the type.
    pub(super) fn debug(
        &self,
        name: &str,
        table: &impl fmt::Display,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        if f.alternate() {
            return table.fmt(f);
        }
        f.debug_struct(name)
            .field("num_workers", &self.workers.len())
            .field("blocked", &self.blocked().count())
            .field("asleep", &self.asleep().count())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.workers.iter().map(WorkerStatus::row);
        let rows: Vec<_> = [HEADINGS.map(str::to_owned)]
            .into_iter()
            .chain(rows)
            .collect();
        // The words are aligned to the left, and the numbers to the right.
        table::write(f, &rows, [false, true, false, false, true])?;
        write!(f, "\njobs from outside: {}", self.jobs_from_outside)
    }
}

impl ThreadPool {
    /// Returns what every worker is doing now: whether it runs a job, searches for one, sleeps, or
    /// is blocked, and if so under which label and for how long.
    ///
    /// Use it when a program seems to hang: [this page](crate::guide::hangs) explains how to read
    /// the result.
    ///
    /// Any thread may call this at any time, including a [deadlock
    /// handler](crate::ThreadPoolBuilder::deadlock_handler). It neither stops a worker nor waits
    /// for one. Printed with `{}`, the result is a table. For counts of what the workers have done,
    /// see [`metrics`](Self::metrics).
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
    /// println!("{}", pool.state());
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> PoolState {
        state_of(self.registry())
    }
}

/// Returns the [state](ThreadPool::state) of the current pool: the one whose worker this thread is,
/// or [lends](crate::block_in_place()), or else the global pool. See [what it shows for a program
/// that hangs](crate::guide::hangs).
///
/// # Examples
/// ```
/// let workers = pool_std::current_state().workers().len();
/// assert_eq!(workers, pool_std::current_num_threads());
/// ```
#[must_use]
pub fn current_state() -> PoolState {
    with_current_registry(state_of)
}

pub(crate) fn state_of(registry: &Registry) -> PoolState {
    PoolState::of(registry, |index| {
        let worker = registry.worker(index).expect("counted");
        let ticket = registry.deadlock().ticket(worker);
        let state = registry.deadlock().state(worker);
        (state, ticket.map(|ticket| ticket.episode()))
    })
}

/// The table in the alternate form; otherwise one line.
impl fmt::Debug for PoolState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.debug("PoolState", self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> PoolState {
        let section = BlockedSection {
            label: "query\nof Zoë".into(),
            since: None,
        };
        let mut blocked = WorkerStatus::new(0, Activity::Blocked(section), 12, 0);
        blocked.blocked_for = Some(Duration::from_micros(1_234_500));
        let asleep = WorkerStatus::new(1, Activity::Asleep, 0, 0);
        let reclaimed = WorkerStatus::new(2, Activity::Active, 0, 1);
        PoolState {
            workers: vec![blocked, asleep, reclaimed],
            jobs_from_outside: 3,
        }
    }

    #[test]
    fn prints_a_table() {
        let table = "\
worker  state    queued  blocked ms  label
     0  blocked      12      1234.5  query of Zoë
     1  asleep        0           -
     2  active        0           -  (after block_in_place, a thread waits for this job to end)
jobs from outside: 3";
        assert_eq!(state().to_string(), table);
        assert_eq!(format!("{:#?}", state()), table);
    }

    #[test]
    fn prints_a_line() {
        let line = "PoolState { num_workers: 3, blocked: 1, asleep: 1, .. }";
        assert_eq!(format!("{:?}", state()), line);
    }
}
