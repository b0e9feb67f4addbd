//! How far the calls of `Hints` are.

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) enum Call {
    StartLooking,
    LatchGetsSleepy(u8, bool),
    Enters(u8),
    Registers(u8),
    Retracts(u8),
    RegistersAgain(u8),
    LatchFallsAsleep(u8),
    LooksLast(u8),
    /// The latch says that the worker is awake, and then the worker has this registration.
    LatchWakesUp(u8, bool),
    /// The same before it turns back, because its latch is set, or because there is work.
    LatchWakesBeforeTurn(u8, bool),
    TurnsBack(u8, bool),
    ChecksNotified(u8),
    ChecksSlot(u8),
    Parks(u8),
    LatchWakesAfterPark(u8),
    Receives(u8),
    WorkFound,
    WithdrawReceives(u8),
    TakesOwnUnit(u8),
    Withdraws(u8),
    Abandons(u8),
    Cascades,
    LooksForMore,
    Notifies {
        count: u8,
        anywhere: bool,
        then: Then,
    },
    Spends {
        worker: u8,
        left: u8,
        stale: u8,
        anywhere: bool,
        then: Then,
    },
    /// It has claimed this sleeper, and goes on with the next worker.
    Unparks {
        worker: u8,
        left: u8,
        stale: u8,
        anywhere: bool,
        then: Then,
    },
    Pokes(u8),
    UnparksPoked(u8),
    StaysRegistered,
    Nothing,
}

/// What comes after a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::pool) enum Then {
    /// The call of a poster ends.
    PosterEnds,
    /// The call of a worker that leaves ends.
    WorkerEnds,
    /// The call of a worker that stays registered ends.
    StaysRegistered,
    /// The worker looks for more work.
    Cascades,
}
