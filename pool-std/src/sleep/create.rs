//! How the protocol of a pool is created, and which kind it is.

use pool_core::{
    Classic, ClassicSlot, HintSlot, Hints, IdlePolicy, Jec, Slot, Sockets, TooManyWorkers,
};

use super::{PoolSleep, PoolSockets, SleepKind, channel::OsChannel, seeded::Seeded};
use crate::{parker::OsParker, seeded::Membership};

impl PoolSleep {
    pub(crate) fn new(
        kind: SleepKind,
        parkers: impl Iterator<Item = OsParker>,
        policy: IdlePolicy,
    ) -> Result<Self, TooManyWorkers> {
        match kind {
            SleepKind::Jec => Jec::new(parkers.map(Slot::new).collect(), policy).map(Self::Jec),
            SleepKind::Sockets => sockets(parkers, policy).map(Self::Sockets),
            SleepKind::Classic => {
                let slots = parkers.map(ClassicSlot::new);
                Ok(Self::Classic(Classic::new(slots.collect(), policy)))
            }
            SleepKind::Hints => {
                let slots = parkers.map(|parker| HintSlot::new(OsChannel::new(parker)));
                Hints::new(slots.collect(), policy).map(Self::Hints)
            }
            SleepKind::Seeded => unreachable!("a pool that takes turns is made otherwise"),
        }
    }

    /// Creates the protocol of a pool whose workers take turns.
    pub(crate) fn seeded(membership: Membership, parkers: impl Iterator<Item = OsParker>) -> Self {
        Self::Seeded(Seeded::new(parkers.collect(), membership))
    }

    pub(crate) fn kind(&self) -> SleepKind {
        match self {
            Self::Jec(_) => SleepKind::Jec,
            Self::Sockets(_) => SleepKind::Sockets,
            Self::Classic(_) => SleepKind::Classic,
            Self::Hints(_) => SleepKind::Hints,
            Self::Seeded(_) => SleepKind::Seeded,
        }
    }
}

/// Creates the protocol of workers in several sockets.
fn sockets(
    parkers: impl Iterator<Item = OsParker>,
    policy: IdlePolicy,
) -> Result<PoolSockets, TooManyWorkers> {
    let mut slots: Vec<_> = parkers.map(Slot::new).collect();
    let workers = slots.len();
    let each = SleepKind::Sockets.workers_counted_together(workers);
    let sizes = (0..workers)
        .step_by(each)
        .map(|first| each.min(workers - first));
    let jec = |size| Jec::new(slots.drain(..size).collect(), policy);
    let sockets = sizes.map(jec).collect::<Result<_, _>>()?;
    Ok(Sockets::new(sockets).expect("as many sockets as the protocol allows, of even sizes"))
}
