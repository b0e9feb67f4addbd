//! The protocol `Hints` of sleep-core, step by step. Where the work is, it does not say here.

mod call;
mod notifying;
mod shared;

use super::{
    guard::Guard,
    protocol::{Answer, Flow, Protocol, Request},
    world::{Latch, Look, World},
};
use call::{Call, Then};
use shared::{HintSlot, Shared};

/// `Hints`. A worker sleeps after its first fruitless search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hints;

/// Whether a worker that searches may be registered as a sleeper.
pub(super) type Idle = bool;

impl Protocol for Hints {
    type Shared = Shared;
    type Idle = Idle;
    type Call = Call;

    fn begin(&self, request: Request<Idle>) -> Call {
        match request {
            Request::StartLooking(_) => Call::StartLooking,
            Request::NoWorkFound(worker, is_registered) => {
                Call::LatchGetsSleepy(worker, is_registered)
            }
            Request::WorkFound(worker, true) => Call::WithdrawReceives(worker),
            Request::WorkFound(_, false) => Call::WorkFound,
            Request::Announce {
                is_injected, count, ..
            } => Call::Notifies {
                count,
                anywhere: is_injected,
                then: Then::PosterEnds,
            },
            Request::AnnounceFor(worker) | Request::WakeWorker(worker) => Call::Pokes(worker),
            Request::BorrowSleeper | Request::GiveBack(_) => Call::Nothing,
        }
    }

    fn step(
        &self,
        world: &mut World,
        shared: &mut Shared,
        call: &mut Call,
        without: &[Guard],
    ) -> Result<Flow<Idle>, String> {
        use HintSlot::{Asleep, Awake, Busy, Notified, Searching};

        let has = |guard| !without.contains(&guard);
        let ends = |what| Ok(Flow::Ends(Answer::None, what));
        let goes_on = |idle, what| Ok(Flow::Ends(Answer::Idle(idle), what));
        let (next, what) = match *call {
            Call::StartLooking => return goes_on(false, "begins to search"),
            Call::LatchGetsSleepy(worker, is_registered) => {
                let advances = world.advance_latch(worker, Latch::Unset, Latch::Sleepy);
                if !advances && has(Guard::LatchCheck) {
                    return goes_on(is_registered, "sees that its latch is set");
                }
                (Call::Enters(worker), "its latch says that it is sleepy")
            }
            Call::Enters(worker) => {
                let in_flight = [Searching, Busy, Asleep];
                if shared.exchange(world, worker, &in_flight, Asleep) {
                    (Call::LatchFallsAsleep(worker), "is registered already")
                } else if shared.exchange(world, worker, &[Notified], Awake) {
                    (
                        Call::LatchWakesUp(worker, false),
                        "sees that it was notified",
                    )
                } else {
                    shared.exchange(world, worker, &[Awake], Asleep);
                    (Call::Registers(worker), "opens its slot")
                }
            }
            Call::Registers(worker) => {
                shared.units += 1;
                match shared.units > 0 {
                    true => (Call::LatchFallsAsleep(worker), "counts itself"),
                    false => (Call::Retracts(worker), "finds a notification in the count"),
                }
            }
            Call::Retracts(worker) => {
                if shared.exchange(world, worker, &[Asleep, Searching], Awake) {
                    (
                        Call::LatchWakesUp(worker, false),
                        "takes its registration back",
                    )
                } else if has(Guard::CountsAgain) {
                    let what = "finds that it was notified a second time";
                    (Call::RegistersAgain(worker), what)
                } else {
                    shared.exchange(world, worker, &[Notified], Awake);
                    (
                        Call::LatchWakesUp(worker, false),
                        "notes both notifications",
                    )
                }
            }
            Call::RegistersAgain(worker) => {
                shared.units += 1;
                match shared.units > 0 {
                    true => (
                        Call::LatchFallsAsleep(worker),
                        "counts the other worker again",
                    ),
                    false => (Call::RegistersAgain(worker), "finds one more notification"),
                }
            }
            Call::LatchFallsAsleep(worker) => {
                let advances = world.advance_latch(worker, Latch::Sleepy, Latch::Sleeping);
                let next = match advances || !has(Guard::LatchCheck) {
                    true => Call::LooksLast(worker),
                    false => Call::LatchWakesBeforeTurn(worker, true),
                };
                (
                    next,
                    "executes a fence; its latch says that it sleeps, unless it is set",
                )
            }
            Call::LooksLast(worker) => {
                if has(Guard::LastLook) {
                    return Ok(Flow::Looks(Look::Last(worker), "looks again"));
                }
                world.leave_seat(worker);
                (Call::ChecksSlot(worker), "does not look again")
            }
            Call::LatchWakesUp(worker, is_registered) => {
                world.wake_latch(worker);
                return goes_on(is_registered, "its latch says that it is awake");
            }
            Call::LatchWakesBeforeTurn(worker, is_set) => {
                world.wake_latch(worker);
                (
                    Call::TurnsBack(worker, is_set),
                    "its latch says that it is awake",
                )
            }
            Call::TurnsBack(worker, is_set) => {
                shared.exchange(world, worker, &[Asleep], Searching);
                if !is_set || !has(Guard::LatchPassesOn) {
                    return goes_on(true, "turns back");
                }
                (Call::ChecksNotified(worker), "turns back")
            }
            Call::ChecksNotified(worker) => {
                if shared.slot(worker) != Notified {
                    return goes_on(true, "was not notified");
                }
                let next = Call::Notifies {
                    count: 1,
                    anywhere: false,
                    then: Then::StaysRegistered,
                };
                (next, "was notified, and passes that on")
            }
            Call::ChecksSlot(worker) => match shared.slot(worker) {
                Asleep => (Call::Parks(worker), "sees that it sleeps"),
                _ => (Call::LatchWakesAfterPark(worker), "sees that it is awake"),
            },
            Call::Parks(worker) => {
                if !world.take_token(worker) {
                    return Ok(Flow::Blocked);
                }
                let next = match has(Guard::SlotSaysAwake) {
                    true => Call::ChecksSlot(worker),
                    false => Call::LatchWakesAfterPark(worker),
                };
                (next, "returns from its park")
            }
            Call::LatchWakesAfterPark(worker) => {
                world.wake_latch(worker);
                (Call::Receives(worker), "its latch says that it is awake")
            }
            Call::Receives(worker) => {
                let was_notified = shared.exchange(world, worker, &[Notified], Awake);
                return goes_on(!was_notified, "notes the notification, if there is one");
            }
            Call::WithdrawReceives(worker) => {
                let was_notified = shared.exchange(world, worker, &[Notified], Awake);
                let next = match was_notified {
                    true => Call::Cascades,
                    false => Call::TakesOwnUnit(worker),
                };
                (next, "looks whether it was notified")
            }
            Call::TakesOwnUnit(worker) if shared.units > 0 => {
                shared.units -= 1;
                (Call::Withdraws(worker), "takes a unit")
            }
            Call::TakesOwnUnit(worker) => (Call::Abandons(worker), "finds no unit"),
            Call::Withdraws(worker) => {
                if shared.exchange(world, worker, &[Searching], Awake) {
                    (Call::Cascades, "withdraws its registration")
                } else {
                    shared.exchange(world, worker, &[Notified], Awake);
                    let next = match has(Guard::UnitIsSpent) {
                        true => Call::Spends {
                            worker: 0,
                            left: 1,
                            stale: 0,
                            anywhere: false,
                            then: Then::Cascades,
                        },
                        false => Call::Cascades,
                    };
                    (next, "was notified; its unit is another worker's")
                }
            }
            Call::Abandons(worker) => {
                if !shared.exchange(world, worker, &[Searching], Busy) {
                    shared.exchange(world, worker, &[Notified], Awake);
                }
                (Call::Cascades, "leaves its registration behind")
            }
            Call::WorkFound | Call::Cascades => {
                if shared.units <= 0 || !has(Guard::Cascade) {
                    return ends("sees that no worker sleeps");
                }
                *call = Call::LooksForMore;
                return Ok(Flow::Looks(Look::More(0), "looks for more work"));
            }
            Call::LooksForMore => return Err("the pool has not answered".to_owned()),
            Call::Notifies { .. } | Call::Spends { .. } | Call::Unparks { .. } => {
                notifying::step(world, shared, without, *call)
            }
            Call::Pokes(worker) => {
                if !shared.exchange(world, worker, &[Asleep], Searching) {
                    return ends("sees that the worker is awake");
                }
                (Call::UnparksPoked(worker), "pokes the sleeper")
            }
            Call::UnparksPoked(worker) => {
                world.unpark(worker, has(Guard::Token));
                return ends("unparks it");
            }
            Call::StaysRegistered => return goes_on(true, "stays registered"),
            Call::Nothing => return ends("has nothing to do"),
        };
        *call = next;
        // What no other actor can see is part of the last step.
        match next {
            Call::Nothing => ends(what),
            Call::StaysRegistered => goes_on(true, what),
            _ => Ok(Flow::GoesOn(what)),
        }
    }

    fn answer(&self, call: &mut Call, finds: bool) {
        *call = match (*call, finds) {
            (Call::LooksLast(worker), true) => Call::LatchWakesBeforeTurn(worker, false),
            (Call::LooksLast(worker), false) => Call::ChecksSlot(worker),
            (Call::LooksForMore, true) => Call::Notifies {
                count: 1,
                anywhere: false,
                then: Then::WorkerEnds,
            },
            _ => Call::Nothing,
        };
    }

    fn check(&self, world: &World, shared: &Shared) -> Result<(), String> {
        let workers = world.num_workers() as i8;
        if shared.units.abs() > workers {
            return Err(format!("the count of sleepers is {}", shared.units));
        }
        Ok(())
    }

    fn check_end(&self, shared: &Shared) -> Result<(), String> {
        let left = shared.slots.iter().filter(|slot| **slot == HintSlot::Busy);
        let left = left.count() as i8;
        if shared.units > left {
            return Err(format!(
                "{} are counted, and {left} registered",
                shared.units
            ));
        }
        Ok(())
    }
}
