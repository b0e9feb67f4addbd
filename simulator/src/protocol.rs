//! The sleep protocols and idle policies that are compared.

use pool_core::{
    ArrayChannel, AwakeSet, Classic, ClassicSlot, HintSlot, Hints, IdlePolicy, Jec, LendSeats,
    Relax, Searchers, SleepProtocol, Slot, TooManyWorkers,
};

use crate::{
    machine::{Part, Region},
    platform::VirtualParker,
};

/// A protocol that a simulation can create.
pub trait Protocol:
    SleepProtocol<Parker = VirtualParker> + LendSeats + AwakeSet + Send + Sync + Sized + 'static
{
    /// Creates the protocol for this many workers.
    ///
    /// # Errors
    /// [`TooManyWorkers`] if it cannot count them.
    fn create(workers: usize, policy: IdlePolicy) -> Result<Self, TooManyWorkers>;

    /// Returns the memory of the protocol, with names.
    fn regions(&self) -> Vec<Region>;
}

fn parkers(workers: usize) -> impl Iterator<Item = VirtualParker> {
    (0..workers).map(VirtualParker::new)
}

/// The default protocol of pools.
pub type VirtualJec = Jec<Box<[Slot<VirtualParker>]>>;

impl Protocol for VirtualJec {
    fn create(workers: usize, policy: IdlePolicy) -> Result<Self, TooManyWorkers> {
        Self::new(parkers(workers).map(Slot::new).collect(), policy)
    }

    fn regions(&self) -> Vec<Region> {
        vec![
            Region::of(Part::Counters, self),
            Region::of_slice(Part::Slots, self.slots()),
        ]
    }
}

/// Counters for each socket.
pub type VirtualSockets = pool_core::Sockets<Box<[VirtualJec]>>;

/// The workers of a socket: those of a node in the cost model for servers. In tests so few that
/// small pools have several sockets.
const SOCKET: usize = if cfg!(test) { 2 } else { 64 };

impl Protocol for VirtualSockets {
    fn create(workers: usize, policy: IdlePolicy) -> Result<Self, TooManyWorkers> {
        let parkers: Vec<usize> = (0..workers).collect();
        let sockets: Result<Box<[_]>, _> = parkers
            .chunks(SOCKET)
            .map(|chunk| {
                let slots = chunk
                    .iter()
                    .map(|&worker| Slot::new(VirtualParker::new(worker)));
                VirtualJec::new(slots.collect(), policy)
            })
            .collect();
        Ok(Self::new(sockets?).expect("at most 64 sockets of even sizes"))
    }

    fn regions(&self) -> Vec<Region> {
        let mut regions = vec![
            Region::of(Part::Counters, self),
            Region::of_slice(Part::Counters, self.sockets()),
        ];
        regions.extend(
            self.sockets()
                .iter()
                .map(|socket| Region::of_slice(Part::Slots, socket.slots())),
        );
        regions
    }
}

/// The protocol of one word.
pub type VirtualClassic = Classic<Box<[ClassicSlot<VirtualParker>]>>;

impl Protocol for VirtualClassic {
    fn create(workers: usize, policy: IdlePolicy) -> Result<Self, TooManyWorkers> {
        let slots = parkers(workers).map(ClassicSlot::new);
        Ok(Self::new(slots.collect(), policy))
    }

    fn regions(&self) -> Vec<Region> {
        vec![
            Region::of(Part::Counters, self),
            Region::of_slice(Part::Slots, self.slots()),
        ]
    }
}

type Channel = ArrayChannel<VirtualParker>;

/// The protocol that tells a worker where the work is.
pub type VirtualHints = Hints<Box<[HintSlot<Channel>]>>;

impl Protocol for VirtualHints {
    fn create(workers: usize, policy: IdlePolicy) -> Result<Self, TooManyWorkers> {
        let slots = parkers(workers).map(|parker| HintSlot::new(Channel::new(parker)));
        Self::new(slots.collect(), policy)
    }

    fn regions(&self) -> Vec<Region> {
        vec![
            Region::of(Part::Counters, self),
            Region::of_slice(Part::Slots, self.slots()),
        ]
    }
}

/// A protocol by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// The jobs event counter, the default of pools.
    Jec,
    /// Counters for each socket.
    Sockets,
    /// One atomic word.
    Classic,
    /// Wake-ups with hints.
    Hints,
}

impl Kind {
    /// Returns the name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Jec => "jec",
            Self::Sockets => "sockets",
            Self::Classic => "classic",
            Self::Hints => "hints",
        }
    }
}

/// The idle policies that are compared, with their names, the default first. The last two limit the
/// searchers to a number that does not grow with the pool, and do as many rounds on each worker as
/// rayon-core does.
pub const POLICIES: &[(&str, IdlePolicy)] = &[
    ("balanced", IdlePolicy::BALANCED),
    ("immediate", IdlePolicy::IMMEDIATE),
    ("power", IdlePolicy::POWER),
    ("latency", IdlePolicy::LATENCY),
    (
        "balanced-8",
        IdlePolicy::BALANCED.with_max_searchers(Searchers::at_most(8)),
    ),
    ("fixed-32", IdlePolicy::new(32, 33, Relax::Yield)),
];

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use pool_core::NewJobs;
    use sleep_primitives::simulate::{Access, set_hook};

    use super::*;

    thread_local! {
        static ACCESSES: RefCell<Vec<Access>> = const { RefCell::new(Vec::new()) };
    }

    /// Returns what a call reads and writes that other threads could observe.
    fn accesses(call: impl FnOnce()) -> Vec<Access> {
        set_hook(Some(|access, _, _| {
            ACCESSES.with_borrow_mut(|accesses| accesses.push(access));
        }));
        call();
        set_hook(None);
        ACCESSES.take()
    }

    /// Announces a job from a worker, and one from outside, while all workers are awake.
    fn announcing_costs_one_load<P: Protocol>() {
        let sleep = P::create(3, IdlePolicy::IMMEDIATE).unwrap();
        // The counter of `Jec` begins as if a worker had been sleepy, which the first post ends.
        sleep.announce(NewJobs::internal(1, || true));
        let internal = accesses(|| {
            sleep.announce(NewJobs::internal(1, || unreachable!("is not asked")));
        });
        assert_eq!(internal, [Access::Load]);
        let injected = accesses(|| sleep.announce(NewJobs::injected(1, true)));
        assert_eq!(injected[..2], [Access::Fence, Access::Load]);
    }

    #[test]
    fn a_post_of_jec_while_all_are_awake_is_one_load() {
        announcing_costs_one_load::<VirtualJec>();
    }

    #[test]
    fn a_post_of_sockets_while_all_are_awake_is_one_load() {
        announcing_costs_one_load::<VirtualSockets>();
    }

    #[test]
    fn a_tickle_while_all_are_awake_is_one_load() {
        announcing_costs_one_load::<VirtualClassic>();
    }

    #[test]
    fn a_notification_while_all_are_awake_is_one_load() {
        announcing_costs_one_load::<VirtualHints>();
    }
}
