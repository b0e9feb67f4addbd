//! What can be left out of a pool, to see that it is needed.

use super::Kind;

/// A part of a pool or a protocol that can be left out, to see that it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Guard {
    /// A worker that is registered as a sleeper looks at all sources once more.
    LastLook,
    /// A worker searches once more after it got sleepy.
    SleepySearch,
    /// A worker that got sleepy before a post does not register as a sleeper.
    SleepyCheck,
    /// A worker that has found a job wakes others if it leaves jobs.
    Cascade,
    /// A poster wakes sleepers.
    PosterWakes,
    /// A poster does not count on idle workers if jobs were queued before.
    Backlog,
    /// A worker whose latch is set does not fall asleep.
    LatchCheck,
    /// The setter of a latch that stops a worker wakes the worker.
    SetterWakes,
    /// A thief that has run the second half of a job wakes the worker that waits for it.
    ThiefWakes,
    /// The slot is open before the latch says that the worker sleeps.
    SlotBeforeLatch,
    /// The slot is open before the protocol's word says that workers are asleep.
    SlotBeforeState,
    /// A token that comes before the worker parks is kept.
    Token,
    /// A worker parks again until its slot says that it is awake.
    SlotSaysAwake,
    /// The waker lowers the count of sleepers before it releases the worker.
    WakerCounts,
    /// A worker whose slot was claimed while it turned back waits for its waker.
    TurnBackWaits,
    /// The bit of a worker is set before its slot is open.
    BitBeforeSlot,
    /// The bit of a worker is cleared before it is released, or lent.
    BitClearedFirst,
    /// A worker that is lent ceases to be asleep and idle in one step.
    LendInOneStep,
    /// A guest that gives a worker back looks at all sources for it.
    GuestLooks,
    /// A guest that gives a worker back looks at its latch.
    GuestLooksAtLatch,
    /// A guest that finds jobs queued when it comes wakes the host instead.
    GuestLeavesToHost,
    /// The host that is woken waits until no guest has its seat.
    HostReclaims,
    /// A poster wakes a worker for a job that it alone may take.
    OwnerIsWoken,
    /// A worker that two notifications have reached counts the worker again to which one belongs.
    CountsAgain,
    /// A worker that was notified while its latch was set passes the notification on.
    LatchPassesOn,
    /// A worker that has taken a unit, and was notified, spends the unit on another worker.
    UnitIsSpent,
    /// A notification waits for the next worker that registers.
    NotificationWaits,
    /// A notification of a worker that runs a job is repeated.
    StaleIsRepeated,
    /// A worker that registers as a sleeper sets the bit of its socket, unless it is set.
    SocketIsNoted,
    /// A worker that has found a job wakes workers of other sockets if it leaves jobs.
    SocketCascade,
    /// A thread that clears the bit of a socket looks afterwards whether a worker sleeps there, and
    /// sets it again.
    ClearedThenLooks,
    /// A thread that has set the bit of a socket again wakes the workers that sleep there.
    SetAgainWakes,
    /// A thread that finds no worker active looks at all sources before it reports a deadlock.
    ReportLooks,
    /// A worker tells the accounting that it falls asleep.
    SleepIsNoted,
    /// A worker tells the accounting that it is awake, before it searches.
    WakeIsNoted,
}

/// All guards, with their names.
pub const GUARDS: &[(&str, Guard)] = &[
    ("last-look", Guard::LastLook),
    ("sleepy-search", Guard::SleepySearch),
    ("sleepy-check", Guard::SleepyCheck),
    ("cascade", Guard::Cascade),
    ("poster-wakes", Guard::PosterWakes),
    ("backlog", Guard::Backlog),
    ("latch-check", Guard::LatchCheck),
    ("setter-wakes", Guard::SetterWakes),
    ("thief-wakes", Guard::ThiefWakes),
    ("slot-before-latch", Guard::SlotBeforeLatch),
    ("slot-before-state", Guard::SlotBeforeState),
    ("token", Guard::Token),
    ("slot-says-awake", Guard::SlotSaysAwake),
    ("waker-counts", Guard::WakerCounts),
    ("turn-back-waits", Guard::TurnBackWaits),
    ("bit-before-slot", Guard::BitBeforeSlot),
    ("bit-cleared-first", Guard::BitClearedFirst),
    ("lend-in-one-step", Guard::LendInOneStep),
    ("guest-looks", Guard::GuestLooks),
    ("guest-looks-at-latch", Guard::GuestLooksAtLatch),
    ("guest-leaves-to-host", Guard::GuestLeavesToHost),
    ("host-reclaims", Guard::HostReclaims),
    ("owner-is-woken", Guard::OwnerIsWoken),
    ("counts-again", Guard::CountsAgain),
    ("latch-passes-on", Guard::LatchPassesOn),
    ("unit-is-spent", Guard::UnitIsSpent),
    ("notification-waits", Guard::NotificationWaits),
    ("stale-is-repeated", Guard::StaleIsRepeated),
    ("socket-is-noted", Guard::SocketIsNoted),
    ("socket-cascade", Guard::SocketCascade),
    ("cleared-then-looks", Guard::ClearedThenLooks),
    ("set-again-wakes", Guard::SetAgainWakes),
    ("report-looks", Guard::ReportLooks),
    ("sleep-is-noted", Guard::SleepIsNoted),
    ("wake-is-noted", Guard::WakeIsNoted),
];

impl Guard {
    /// Returns the guard of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |(known, _): &&(&str, Self)| *known == name;
        GUARDS.iter().find(is_it).map(|&(_, guard)| guard)
    }

    /// Whether a pool with this protocol has the guard, so that it can be left out.
    #[must_use]
    pub fn is_in(self, kind: Kind) -> bool {
        match self {
            Self::LastLook
            | Self::PosterWakes
            | Self::LatchCheck
            | Self::SetterWakes
            | Self::ThiefWakes
            | Self::Token
            | Self::SlotSaysAwake
            | Self::OwnerIsWoken
            | Self::ReportLooks
            | Self::SleepIsNoted
            | Self::WakeIsNoted => true,
            Self::SleepySearch
            | Self::SleepyCheck
            | Self::SlotBeforeLatch
            | Self::TurnBackWaits => kind != Kind::Hints,
            // A socket of one worker has no other one to wake.
            Self::Cascade => !matches!(kind, Kind::Classic | Kind::Sockets),
            Self::Backlog
            | Self::WakerCounts
            | Self::BitBeforeSlot
            | Self::BitClearedFirst
            // Only `Jec` and `Sockets` lend workers to guests.
            | Self::LendInOneStep
            | Self::GuestLooks
            | Self::GuestLooksAtLatch
            | Self::GuestLeavesToHost
            | Self::HostReclaims => {
                matches!(kind, Kind::Jec | Kind::Sockets | Kind::OneSocket)
            }
            Self::SocketIsNoted | Self::ClearedThenLooks | Self::SetAgainWakes => {
                matches!(kind, Kind::Sockets | Kind::OneSocket)
            }
            // In a pool of one socket there is no other one.
            Self::SocketCascade => kind == Kind::Sockets,
            Self::SlotBeforeState => kind == Kind::Classic,
            Self::CountsAgain
            | Self::LatchPassesOn
            | Self::UnitIsSpent
            | Self::NotificationWaits
            | Self::StaleIsRepeated => kind == Kind::Hints,
        }
    }
}
