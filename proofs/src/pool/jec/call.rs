//! How far the calls of `Jec` are.

use super::waking::Wake;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) enum Call {
    StartLooking,
    /// A fruitless search.
    GetSleepy(u8),
    LatchGetsSleepy(u8, u8),
    Counts(u8, u8),
    /// It has counted itself although work was posted since it got sleepy.
    CountsBack(u8),
    SetsBit(u8),
    OpensSlot(u8),
    /// The slot is open, and the latch says that the worker sleeps, in this order; or the other
    /// way round, if that is left out.
    LatchFallsAsleep(u8, bool),
    LooksLast(u8),
    ClosesSlot(u8),
    ClearsBit(u8),
    LowersCount(u8),
    ChecksSlot(u8),
    Parks(u8),
    LatchWakesUp(u8),
    WorkFound,
    LooksForMore,
    Announce {
        is_injected: bool,
        count: u8,
        queue_was_empty: bool,
    },
    Increments(u8, bool),
    /// Looks at the bit of a worker, then at its slot; wakes up to so many.
    WakesAt(u8, u8, bool),
    Claimed(u8, u8, u8, Wake),
    AnnounceFor(u8),
    WakeWorker(u8),
    Borrow,
    BorrowsAt(u8),
    /// The seat of this worker is lent; whether it is still counted as idle.
    Lent(u8, bool),
    LentClearsBit(u8),
    GiveBack(u8),
    GivesBackBit(u8),
    GivesBackSlot(u8),
    GivesBackLooks(u8),
    GivesBackClaims(u8),
    Nothing,
}
