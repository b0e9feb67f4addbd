//! The sleep protocol of a pool: one of several kinds, chosen when the pool is built.

use std::{error::Error, fmt, str::FromStr};

use pool_core::{
    Classic, CoreLatch, Hint, HintSlot, Hints, IdlePolicy, Jec, SleepProtocol, Slot,
    TooManyWorkers, WorkerIndex,
};

use crate::{parker::OsParker, sleep::channel::OsChannel};

mod channel;
#[cfg(test)]
mod tests;

/// Decides when the workers of a pool sleep, and which of them are woken.
///
/// All kinds run the same programs and lose no wake-up. They differ in which worker is woken, how
/// many are woken, and what that costs. The page "Choosing a sleep protocol" of the book compares them.
///
/// # Examples
/// ```
/// use pool_std::{SleepKind, ThreadPoolBuilder};
///
/// for &kind in SleepKind::ALL {
///     let pool = ThreadPoolBuilder::new().num_threads(2).sleep(kind).build()?;
///     assert_eq!(pool.sleep_kind(), kind);
///     assert_eq!(pool.join(|| 1, || 2), (1, 2));
/// }
/// # Ok::<(), pool_std::BuildError>(())
/// ```
#[doc(alias = "SleepProtocolKind")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SleepKind {
    /// The jobs event counter of `sleep-core`. A job wakes one worker at most. The default.
    #[default]
    Jec,
    /// One atomic word. A job wakes all workers that sleep, and one worker falls asleep at a time.
    Classic,
    /// A count of sleepers that may be negative. A job wakes one worker at most, and tells it where the job
    /// is.
    Hints,
}

impl SleepKind {
    /// All kinds, the default first.
    pub const ALL: &'static [Self] = &[Self::Jec, Self::Classic, Self::Hints];

    /// Returns the name: what the environment variable `POOL_STD_SLEEP` says.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jec => "jec",
            Self::Classic => "classic",
            Self::Hints => "hints",
        }
    }
}

impl fmt::Display for SleepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SleepKind {
    type Err = UnknownSleepKind;

    /// Returns the kind with this [name](Self::name).
    fn from_str(name: &str) -> Result<Self, UnknownSleepKind> {
        let mut kinds = Self::ALL.iter().copied();
        kinds
            .find(|kind| kind.name() == name)
            .ok_or_else(|| UnknownSleepKind {
                name: name.to_owned(),
            })
    }
}

/// The error of a name that no [`SleepKind`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSleepKind {
    name: String,
}

impl UnknownSleepKind {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for UnknownSleepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there is no sleep protocol `{}`, but {}",
            self.name,
            names().join(", ")
        )
    }
}

impl Error for UnknownSleepKind {}

/// Returns the names of all kinds.
fn names() -> Vec<&'static str> {
    SleepKind::ALL.iter().map(|kind| kind.name()).collect()
}

/// The protocol of one pool.
///
/// The variants are matched with `Jec` first, and the branch goes the same way in a pool each time. A join
/// does not come here while fast push is enabled. A tag of its own is read in one instruction; a niche
/// takes four, for each job that is spawned.
#[repr(u8)]
pub(crate) enum PoolSleep {
    Jec(PoolJec),
    Classic(PoolClassic),
    Hints(PoolHints),
}

type PoolJec = Jec<OsParker, Box<[Slot<OsParker>]>>;
type PoolHints = Hints<OsChannel, Box<[HintSlot<OsChannel>]>>;
type PoolClassic = Classic<OsParker, Box<[Slot<OsParker>]>>;

impl PoolSleep {
    pub(crate) fn new(
        kind: SleepKind,
        parkers: impl Iterator<Item = OsParker>,
        policy: IdlePolicy,
    ) -> Result<Self, TooManyWorkers> {
        match kind {
            SleepKind::Jec => Jec::new(parkers.map(Slot::new).collect(), policy).map(Self::Jec),
            SleepKind::Classic => {
                Classic::new(parkers.map(Slot::new).collect(), policy).map(Self::Classic)
            }
            SleepKind::Hints => {
                let slots = parkers.map(|parker| HintSlot::new(OsChannel::new(parker)));
                Hints::new(slots.collect(), policy).map(Self::Hints)
            }
        }
    }

    pub(crate) fn policy(&self) -> IdlePolicy {
        match self {
            Self::Jec(jec) => jec.policy(),
            Self::Classic(classic) => classic.policy(),
            Self::Hints(hints) => hints.policy(),
        }
    }

    pub(crate) fn kind(&self) -> SleepKind {
        match self {
            Self::Jec(_) => SleepKind::Jec,
            Self::Classic(_) => SleepKind::Classic,
            Self::Hints(_) => SleepKind::Hints,
        }
    }
}

/// One worker's way from having no work to being asleep.
pub(crate) enum PoolIdle {
    Jec(<PoolJec as SleepProtocol>::IdleState),
    Classic(<PoolClassic as SleepProtocol>::IdleState),
    Hints(<PoolHints as SleepProtocol>::IdleState),
}

/// Ends a call with the state of another pool, whose protocol is of another kind.
#[cold]
fn foreign_state() -> ! {
    unreachable!("a worker gives back the state that its own pool gave it")
}

/// Calls a method of the protocol, whichever it is.
macro_rules! delegate {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            PoolSleep::Jec(jec) => jec.$method($($argument),*),
            PoolSleep::Classic(classic) => classic.$method($($argument),*),
            PoolSleep::Hints(hints) => hints.$method($($argument),*),
        }
    };
}

impl SleepProtocol for PoolSleep {
    type Parker = OsParker;
    type IdleState = PoolIdle;

    fn num_workers(&self) -> usize {
        delegate!(self.num_workers())
    }

    #[inline]
    fn parker(&self, worker: WorkerIndex) -> &OsParker {
        delegate!(self.parker(worker))
    }

    #[inline]
    fn start_looking(&self, worker: WorkerIndex) -> PoolIdle {
        match self {
            Self::Jec(jec) => PoolIdle::Jec(jec.start_looking(worker)),
            Self::Classic(classic) => PoolIdle::Classic(classic.start_looking(worker)),
            Self::Hints(hints) => PoolIdle::Hints(hints.start_looking(worker)),
        }
    }

    #[inline]
    fn start_waiting(&self, worker: WorkerIndex) -> PoolIdle {
        match self {
            Self::Jec(jec) => PoolIdle::Jec(jec.start_waiting(worker)),
            Self::Classic(classic) => PoolIdle::Classic(classic.start_waiting(worker)),
            Self::Hints(hints) => PoolIdle::Hints(hints.start_waiting(worker)),
        }
    }

    #[inline]
    fn no_work_found(
        &self,
        idle: &mut PoolIdle,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) {
        match (self, idle) {
            (Self::Jec(jec), PoolIdle::Jec(idle)) => jec.no_work_found(idle, latch, has_work),
            (Self::Classic(classic), PoolIdle::Classic(idle)) => {
                classic.no_work_found(idle, latch, has_work);
            }
            (Self::Hints(hints), PoolIdle::Hints(idle)) => {
                hints.no_work_found(idle, latch, has_work);
            }
            _ => foreign_state(),
        }
    }

    #[inline]
    fn work_found(&self, idle: PoolIdle, more_work: impl FnOnce() -> bool) {
        match (self, idle) {
            (Self::Jec(jec), PoolIdle::Jec(idle)) => jec.work_found(idle, more_work),
            (Self::Classic(classic), PoolIdle::Classic(idle)) => {
                classic.work_found(idle, more_work);
            }
            (Self::Hints(hints), PoolIdle::Hints(idle)) => hints.work_found(idle, more_work),
            _ => foreign_state(),
        }
    }

    #[inline]
    fn new_injected_jobs(&self, count: usize, queue_was_empty: bool) {
        delegate!(self.new_injected_jobs(count, queue_was_empty));
    }

    #[inline]
    fn new_internal_jobs(&self, count: usize, queue_was_empty: impl FnOnce() -> bool) {
        delegate!(self.new_internal_jobs(count, queue_was_empty));
    }

    #[inline]
    fn new_injected_jobs_at(&self, hint: Hint, count: usize, queue_was_empty: bool) {
        delegate!(self.new_injected_jobs_at(hint, count, queue_was_empty));
    }

    #[inline]
    fn new_internal_jobs_at(
        &self,
        hint: Hint,
        count: usize,
        queue_was_empty: impl FnOnce() -> bool,
    ) {
        delegate!(self.new_internal_jobs_at(hint, count, queue_was_empty));
    }

    #[inline]
    fn take_hint(&self, idle: &mut PoolIdle) -> Option<Hint> {
        match (self, idle) {
            (Self::Hints(hints), PoolIdle::Hints(idle)) => hints.take_hint(idle),
            _ => None,
        }
    }

    #[inline]
    fn caller_resumed(&self) {
        delegate!(self.caller_resumed());
    }

    #[inline]
    fn all_are_awake(&self) -> bool {
        delegate!(self.all_are_awake())
    }

    #[inline]
    fn any_awake(
        &self,
        caller: Option<WorkerIndex>,
        first: usize,
        holds: impl FnMut(WorkerIndex) -> bool,
    ) -> bool {
        delegate!(self.any_awake(caller, first, holds))
    }

    #[inline]
    fn new_job_for(&self, worker: WorkerIndex) {
        delegate!(self.new_job_for(worker));
    }

    fn new_jobs_for(&self, workers: impl Iterator<Item = WorkerIndex>) {
        delegate!(self.new_jobs_for(workers));
    }

    #[inline]
    fn wake_worker(&self, worker: WorkerIndex) -> bool {
        delegate!(self.wake_worker(worker))
    }

    #[inline]
    fn borrow_sleeper(&self, eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        delegate!(self.borrow_sleeper(eligible))
    }

    #[inline]
    fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool {
        delegate!(self.give_back(worker, has_work))
    }

    fn num_inactive(&self) -> usize {
        delegate!(self.num_inactive())
    }

    fn num_sleeping(&self) -> usize {
        delegate!(self.num_sleeping())
    }
}
