//! The protocol `Classic` of sleep-core, step by step.

use super::{
    guard::Guard,
    protocol::{Answer, Flow, Protocol, Request},
    world::{Latch, Look, Slot, World},
};

/// `Classic`. A worker sleeps after its second fruitless search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Classic;

/// The word: whether workers are asleep, and which one is sleepy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Shared {
    some_asleep: bool,
    sleepy: Option<u8>,
}

/// Whether a worker that searches has got sleepy.
pub(super) type Idle = bool;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Call {
    StartLooking,
    GetsSleepy(u8),
    LatchGetsSleepy(u8),
    OpensSlot(u8),
    FallsAsleep(u8),
    LatchFallsAsleep(u8),
    LooksLast(u8),
    LatchWakesUp(u8, AfterLatch),
    ClosesSlot(u8),
    ChecksSlot(u8),
    Parks(u8),
    StopsBeingSleepy(u8),
    Announce,
    Strips,
    WakesAt(u8),
    Claimed(u8, u8, Wake),
    WakeWorker(u8),
    Nothing,
}

/// What a worker does when its latch says that it is awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum AfterLatch {
    Closes,
    Ends,
}

/// How far a waker is with a worker that it has claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wake {
    Releases,
    Unparks,
}

impl Protocol for Classic {
    type Shared = Shared;
    type Idle = Idle;
    type Call = Call;

    fn begin(&self, request: Request<Idle>) -> Call {
        match request {
            Request::StartLooking(_) => Call::StartLooking,
            Request::NoWorkFound(worker, false) => Call::GetsSleepy(worker),
            Request::NoWorkFound(worker, true) => Call::LatchGetsSleepy(worker),
            Request::WorkFound(worker, true) => Call::StopsBeingSleepy(worker),
            Request::WorkFound(_, false) => Call::Nothing,
            Request::Announce { .. } => Call::Announce,
            Request::AnnounceFor(worker) | Request::WakeWorker(worker) => Call::WakeWorker(worker),
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
        let has = |guard| !without.contains(&guard);
        let ends = |what| Ok(Flow::Ends(Answer::None, what));
        let is_awake = |what| Ok(Flow::Ends(Answer::Idle(false), what));
        let (next, what) = match *call {
            Call::StartLooking => return is_awake("begins to search"),
            Call::GetsSleepy(_) if shared.sleepy.is_some() => {
                return is_awake("sees that another worker is sleepy");
            }
            Call::GetsSleepy(worker) => {
                shared.sleepy = Some(worker);
                if has(Guard::SleepySearch) {
                    return Ok(Flow::Ends(Answer::Idle(true), "gets sleepy"));
                }
                (Call::LatchGetsSleepy(worker), "gets sleepy")
            }
            Call::LatchGetsSleepy(worker) => {
                let advances = world.advance_latch(worker, Latch::Unset, Latch::Sleepy);
                if !advances && has(Guard::LatchCheck) {
                    return Ok(Flow::Ends(Answer::Idle(true), "sees that its latch is set"));
                }
                let next = match has(Guard::SlotBeforeState) {
                    true if has(Guard::SlotBeforeLatch) => Call::OpensSlot(worker),
                    _ => Call::FallsAsleep(worker),
                };
                (next, "its latch says that it is sleepy")
            }
            Call::OpensSlot(worker) => {
                world.open(worker)?;
                let next = if !has(Guard::SlotBeforeLatch) {
                    Call::LooksLast(worker)
                } else if !has(Guard::SlotBeforeState) {
                    Call::LatchFallsAsleep(worker)
                } else {
                    Call::FallsAsleep(worker)
                };
                (next, "opens its slot")
            }
            Call::FallsAsleep(worker) => {
                let is_sleepy = shared.sleepy == Some(worker);
                if is_sleepy {
                    shared.sleepy = None;
                }
                if is_sleepy || !has(Guard::SleepyCheck) {
                    shared.some_asleep = true;
                    let next = match has(Guard::SlotBeforeState) {
                        false => Call::OpensSlot(worker),
                        true => Call::LatchFallsAsleep(worker),
                    };
                    (next, "says that workers are asleep")
                } else {
                    let is_open = world.place(worker).slot != Slot::Awake;
                    let then = if is_open {
                        AfterLatch::Closes
                    } else {
                        AfterLatch::Ends
                    };
                    (
                        Call::LatchWakesUp(worker, then),
                        "sees that a tickle has come",
                    )
                }
            }
            Call::LatchFallsAsleep(worker) => {
                let advances = world.advance_latch(worker, Latch::Sleepy, Latch::Sleeping);
                let next = if advances || !has(Guard::LatchCheck) {
                    match has(Guard::SlotBeforeLatch) {
                        true => Call::LooksLast(worker),
                        false => Call::OpensSlot(worker),
                    }
                } else if has(Guard::SlotBeforeLatch) {
                    Call::ClosesSlot(worker)
                } else {
                    Call::LatchWakesUp(worker, AfterLatch::Ends)
                };
                (next, "its latch says that it sleeps, unless it is set")
            }
            Call::LooksLast(worker) => {
                if has(Guard::LastLook) {
                    return Ok(Flow::Looks(
                        Look::Last(worker),
                        "executes a fence, and looks again",
                    ));
                }
                world.leave_seat(worker);
                (Call::ChecksSlot(worker), "does not look again")
            }
            Call::LatchWakesUp(worker, then) => {
                world.wake_latch(worker);
                match then {
                    AfterLatch::Ends => return is_awake("its latch says that it is awake"),
                    AfterLatch::Closes => {
                        (Call::ClosesSlot(worker), "its latch says that it is awake")
                    }
                }
            }
            Call::ClosesSlot(worker) => {
                if world.close(worker) {
                    return is_awake("closes its slot");
                }
                if !has(Guard::TurnBackWaits) {
                    return is_awake("finds that its slot was claimed, and goes on");
                }
                (Call::ChecksSlot(worker), "finds that its slot was claimed")
            }
            Call::ChecksSlot(worker) => match world.place(worker).slot {
                Slot::Awake => {
                    let next = Call::LatchWakesUp(worker, AfterLatch::Ends);
                    (next, "sees that it is awake")
                }
                _ => (Call::Parks(worker), "sees that it sleeps"),
            },
            Call::Parks(worker) => {
                if !world.take_token(worker) {
                    return Ok(Flow::Blocked);
                }
                let next = match has(Guard::SlotSaysAwake) {
                    true => Call::ChecksSlot(worker),
                    false => Call::LatchWakesUp(worker, AfterLatch::Ends),
                };
                (next, "returns from its park")
            }
            Call::StopsBeingSleepy(worker) => {
                if shared.sleepy == Some(worker) {
                    shared.sleepy = None;
                }
                return ends("is sleepy no longer");
            }
            Call::Announce => {
                let all_are_awake = !shared.some_asleep && shared.sleepy.is_none();
                if all_are_awake || !has(Guard::PosterWakes) {
                    return ends("sees that all workers are awake");
                }
                (Call::Strips, "sees that workers sleep, or are about to")
            }
            Call::Strips => {
                if !std::mem::take(shared).some_asleep {
                    return ends("makes the sleepy worker awake");
                }
                (Call::WakesAt(0), "says that all workers are awake")
            }
            Call::WakesAt(worker) if worker == world.num_workers() => {
                return ends("has looked at all workers");
            }
            Call::WakesAt(worker) if world.claim(worker) => {
                let next = Call::Claimed(worker, worker + 1, Wake::Releases);
                (next, "claims a sleeper")
            }
            Call::WakesAt(worker) => (Call::WakesAt(worker + 1), "passes over a slot"),
            Call::WakeWorker(worker) if world.claim(worker) => {
                // There is no worker after the last one.
                let next = Call::Claimed(worker, world.num_workers(), Wake::Releases);
                (next, "claims the sleeper")
            }
            Call::WakeWorker(_) => return ends("sees that the worker is awake"),
            Call::Claimed(worker, next, Wake::Releases) => {
                world.place(worker).slot = Slot::Awake;
                (Call::Claimed(worker, next, Wake::Unparks), "releases it")
            }
            Call::Claimed(worker, next, Wake::Unparks) => {
                world.unpark(worker, has(Guard::Token));
                (Call::WakesAt(next), "unparks it")
            }
            Call::Nothing => return ends("has nothing to do"),
        };
        *call = next;
        Ok(Flow::GoesOn(what))
    }

    fn answer(&self, call: &mut Call, finds: bool) {
        *call = match (*call, finds) {
            (Call::LooksLast(worker), true) => Call::LatchWakesUp(worker, AfterLatch::Closes),
            (Call::LooksLast(worker), false) => Call::ChecksSlot(worker),
            _ => Call::Nothing,
        };
    }

    fn check(&self, _world: &World, _shared: &Shared) -> Result<(), String> {
        Ok(())
    }

    fn check_end(&self, shared: &Shared) -> Result<(), String> {
        match shared.sleepy {
            Some(worker) => Err(format!("worker {worker} is sleepy when all has ended")),
            None => Ok(()),
        }
    }
}
