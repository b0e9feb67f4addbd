//! The sleep protocol of a pool: one of several kinds, chosen when the pool is built.

use pool_core::{
    AwakeSet, Classic, ClassicSlot, CoreLatch, Hint, HintSlot, Hints, IdlePolicy, Jec, LendSeats,
    NewJobs, Purpose, SleepProtocol, Slot, Sockets, WorkerIndex,
};

use crate::{
    parker::OsParker,
    sleep::{channel::OsChannel, seeded::Seeded},
};

mod channel;
mod create;
mod kind;
pub(crate) mod seeded;
#[cfg(test)]
mod tests;

pub use kind::{SleepKind, UnknownSleepKind};

/// The protocol of one pool.
///
/// The variants are matched with `Jec` first, and the branch goes the same way in a pool each time.
/// A join does not come here while fast push is enabled. A tag of its own is read in one
/// instruction; a niche takes four, for each job that is spawned.
#[repr(u8)]
pub(crate) enum PoolSleep {
    Jec(PoolJec),
    Sockets(PoolSockets),
    Classic(PoolClassic),
    Hints(PoolHints),
    Seeded(Seeded),
}

type PoolJec = Jec<Box<[Slot<OsParker>]>>;
type PoolSockets = Sockets<Box<[PoolJec]>>;
type PoolHints = Hints<Box<[HintSlot<OsChannel>]>>;
type PoolClassic = Classic<Box<[ClassicSlot<OsParker>]>>;

/// Implements methods by those of the protocol, whichever it is.
macro_rules! delegate {
    ($($visibility:vis fn $method:ident(&self $(, $argument:ident: $type:ty)*) $(-> $result:ty)?;)*) => {$(
        #[inline]
        $visibility fn $method(&self $(, $argument: $type)*) $(-> $result)? {
            match self {
                Self::Jec(jec) => jec.$method($($argument),*),
                Self::Sockets(sockets) => sockets.$method($($argument),*),
                Self::Classic(classic) => classic.$method($($argument),*),
                Self::Hints(hints) => hints.$method($($argument),*),
                Self::Seeded(seeded) => seeded.$method($($argument),*),
            }
        }
    )*};
}

/// Calls a method with a state that the same protocol has given. The state of another protocol has
/// no effect, and the worker searches on; only a pool that mixes up its workers passes one.
macro_rules! with_idle {
    ($self:ident.$method:ident($state:ident $(, $argument:ident)*)) => {
        match ($self, $state) {
            (Self::Jec(it), PoolIdle::Jec(idle)) => it.$method(idle, $($argument),*).into(),
            (Self::Sockets(it), PoolIdle::Sockets(idle)) => it.$method(idle, $($argument),*).into(),
            (Self::Classic(it), PoolIdle::Classic(idle)) => it.$method(idle, $($argument),*).into(),
            (Self::Hints(it), PoolIdle::Hints(idle)) => it.$method(idle, $($argument),*).into(),
            (Self::Seeded(it), PoolIdle::Seeded(idle)) => it.$method(idle, $($argument),*).into(),
            _ => Default::default(),
        }
    };
}

impl PoolSleep {
    delegate! { pub(crate) fn policy(&self) -> IdlePolicy; }
}

/// One worker's way from having no work to being asleep.
pub(crate) enum PoolIdle {
    Jec(<PoolJec as SleepProtocol>::IdleState),
    Sockets(<PoolSockets as SleepProtocol>::IdleState),
    Classic(<PoolClassic as SleepProtocol>::IdleState),
    Hints(<PoolHints as SleepProtocol>::IdleState),
    Seeded(WorkerIndex),
}

impl SleepProtocol for PoolSleep {
    type Parker = OsParker;
    type IdleState = PoolIdle;
    type Hint = Hint;

    fn start_looking(&self, worker: WorkerIndex, purpose: Purpose) -> PoolIdle {
        match self {
            Self::Jec(it) => PoolIdle::Jec(it.start_looking(worker, purpose)),
            Self::Sockets(it) => PoolIdle::Sockets(it.start_looking(worker, purpose)),
            Self::Classic(it) => PoolIdle::Classic(it.start_looking(worker, purpose)),
            Self::Hints(it) => PoolIdle::Hints(it.start_looking(worker, purpose)),
            Self::Seeded(it) => PoolIdle::Seeded(it.start_looking(worker, purpose)),
        }
    }

    #[inline]
    fn no_work_found(
        &self,
        idle: &mut PoolIdle,
        latch: &CoreLatch,
        has_work: impl FnOnce() -> bool,
    ) -> Hint {
        with_idle!(self.no_work_found(idle, latch, has_work))
    }

    #[inline]
    fn work_found(&self, idle: PoolIdle, more_work: impl FnOnce() -> bool) {
        with_idle!(self.work_found(idle, more_work))
    }

    delegate! {
        fn num_workers(&self) -> usize;
        fn parker(&self, worker: WorkerIndex) -> &OsParker;
        fn announce(&self, jobs: NewJobs<impl FnOnce() -> bool>);
        fn announce_for(&self, workers: impl IntoIterator<Item = WorkerIndex>);
        fn all_are_awake(&self) -> bool;
        fn wake_worker(&self, worker: WorkerIndex) -> bool;
        fn num_inactive(&self) -> usize;
        fn num_sleeping(&self) -> usize;
    }
}

impl LendSeats for PoolSleep {
    delegate! {
        fn borrow_sleeper(&self, eligible: impl FnMut(WorkerIndex) -> bool) -> Option<WorkerIndex>;
        fn give_back(&self, worker: WorkerIndex, has_work: impl FnOnce() -> bool) -> bool;
        fn caller_resumed(&self);
    }
}

impl AwakeSet for PoolSleep {
    delegate! {
        fn any_awake(&self, caller: Option<WorkerIndex>, first: usize, holds: impl FnMut(WorkerIndex) -> bool) -> bool;
    }
}
