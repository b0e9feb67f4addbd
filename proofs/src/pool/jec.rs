//! The protocol `Jec` of sleep-core, step by step.

mod call;
mod counters;
mod lending;
mod waking;

use std::ops::Range;

use super::{
    guard::Guard,
    protocol::{Answer, Flow, Protocol, Request},
    world::{Latch, Look, Slot, World},
};
pub(super) use call::Call;
pub(super) use counters::Shared;
use waking::Wake;

/// `Jec`. A worker sleeps after its second fruitless search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Jec {
    /// The first worker of the protocol, and the one behind its last.
    first: u8,
    end: u8,
    /// With fewer workers awake and idle, one that has found a job wakes others.
    many_idle: u8,
    /// As many workers that are awake and idle suffice for a poster.
    enough_idle: u8,
}

impl Jec {
    /// Returns the protocol of some workers, with settings as in the models of sleep-core, which
    /// have few of them.
    pub(super) fn of(workers: Range<u8>) -> Self {
        Self {
            first: workers.start,
            end: workers.end,
            many_idle: 1,
            enough_idle: 1,
        }
    }

    pub(super) fn workers(self) -> Range<u8> {
        self.first..self.end
    }

    /// Returns how many workers run jobs.
    pub(super) fn num_active(self, shared: &Shared) -> u8 {
        (self.end - self.first).saturating_sub(shared.inactive)
    }
}

/// What a worker that searches remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) enum Idle {
    /// It has not got sleepy since it last had a reason to stay awake.
    #[default]
    Fresh,
    /// It has got sleepy with this value of the counter.
    Sleepy(u8),
}

impl Protocol for Jec {
    type Shared = Shared;
    type Idle = Idle;
    type Call = Call;

    fn begin(&self, request: Request<Idle>) -> Call {
        match request {
            Request::StartLooking(_) => Call::StartLooking,
            Request::NoWorkFound(worker, Idle::Fresh) => Call::GetSleepy(worker),
            Request::NoWorkFound(worker, Idle::Sleepy(jec)) => Call::LatchGetsSleepy(worker, jec),
            Request::WorkFound(..) => Call::WorkFound,
            Request::Announce {
                is_injected,
                count,
                queue_was_empty,
            } => Call::Announce {
                is_injected,
                count,
                queue_was_empty,
            },
            Request::AnnounceFor(worker) => Call::AnnounceFor(worker),
            Request::WakeWorker(worker) => Call::WakeWorker(worker),
            Request::BorrowSleeper => Call::Borrow,
            Request::GiveBack(worker) => Call::GiveBack(worker),
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
        let claimed = |worker| Call::Claimed(worker, 0, 0, Wake::first(without));
        let (next, what) = match *call {
            Call::StartLooking => {
                shared.inactive += 1;
                return Ok(Flow::Ends(
                    Answer::Idle(Idle::Fresh),
                    "counts itself as idle",
                ));
            }
            Call::GetSleepy(worker) => {
                if !shared.is_sleepy() {
                    shared.jec += 1;
                }
                let idle = Idle::Sleepy(shared.jec);
                if has(Guard::SleepySearch) {
                    return Ok(Flow::Ends(Answer::Idle(idle), "gets sleepy"));
                }
                (Call::LatchGetsSleepy(worker, shared.jec), "gets sleepy")
            }
            Call::LatchGetsSleepy(worker, jec) => {
                let advances = world.advance_latch(worker, Latch::Unset, Latch::Sleepy);
                if !advances && has(Guard::LatchCheck) {
                    let idle = Answer::Idle(Idle::Sleepy(jec));
                    return Ok(Flow::Ends(idle, "sees that its latch is set"));
                }
                (
                    Call::Counts(worker, jec),
                    "its latch says that it is sleepy",
                )
            }
            Call::Counts(worker, jec) => {
                shared.raise_sleeping()?;
                if shared.jec == jec || !has(Guard::SleepyCheck) {
                    let next = match has(Guard::BitBeforeSlot) {
                        true => Call::SetsBit(worker),
                        false => Call::OpensSlot(worker),
                    };
                    (next, "counts itself as asleep")
                } else {
                    (
                        Call::CountsBack(worker),
                        "counts itself, and sees that work was posted",
                    )
                }
            }
            Call::CountsBack(worker) => {
                shared.lower_sleeping()?;
                (Call::LatchWakesUp(worker), "counts itself as awake")
            }
            Call::SetsBit(worker) => {
                shared.bits[usize::from(worker)] = true;
                let next = match has(Guard::BitBeforeSlot) {
                    true if has(Guard::SlotBeforeLatch) => Call::OpensSlot(worker),
                    true => Call::LatchFallsAsleep(worker, false),
                    false => Call::LatchFallsAsleep(worker, true),
                };
                (next, "sets its bit")
            }
            Call::OpensSlot(worker) => {
                world.open(worker)?;
                let next = match (has(Guard::BitBeforeSlot), has(Guard::SlotBeforeLatch)) {
                    (false, _) => Call::SetsBit(worker),
                    (true, true) => Call::LatchFallsAsleep(worker, true),
                    (true, false) => Call::LooksLast(worker),
                };
                (next, "opens its slot")
            }
            Call::LatchFallsAsleep(worker, is_open) => {
                let advances = world.advance_latch(worker, Latch::Sleepy, Latch::Sleeping);
                let falls_asleep = advances || !has(Guard::LatchCheck);
                let next = match (falls_asleep, is_open) {
                    (true, true) => Call::LooksLast(worker),
                    (true, false) => Call::OpensSlot(worker),
                    (false, true) => Call::ClosesSlot(worker),
                    (false, false) => Call::ClearsBit(worker),
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
            Call::ClosesSlot(worker) if world.close(worker) => {
                (Call::ClearsBit(worker), "closes its slot")
            }
            Call::ClosesSlot(worker) if has(Guard::TurnBackWaits) => {
                (Call::ChecksSlot(worker), "finds that its slot was claimed")
            }
            Call::ClosesSlot(worker) => {
                let what = "finds that its slot was claimed, and goes on";
                (Call::LatchWakesUp(worker), what)
            }
            Call::ClearsBit(worker) => {
                shared.bits[usize::from(worker)] = false;
                (Call::LowersCount(worker), "clears its bit")
            }
            Call::LowersCount(worker) => {
                shared.lower_sleeping()?;
                (Call::LatchWakesUp(worker), "counts itself as awake")
            }
            Call::ChecksSlot(worker) => match world.place(worker).slot {
                Slot::Awake => (Call::LatchWakesUp(worker), "sees that it is awake"),
                _ => (Call::Parks(worker), "sees that it sleeps"),
            },
            Call::Parks(worker) => {
                if !world.take_token(worker) {
                    return Ok(Flow::Blocked);
                }
                let next = match has(Guard::SlotSaysAwake) {
                    true => Call::ChecksSlot(worker),
                    false => Call::LatchWakesUp(worker),
                };
                (next, "returns from its park")
            }
            Call::LatchWakesUp(worker) => {
                world.wake_latch(worker);
                let idle = Answer::Idle(Idle::Fresh);
                return Ok(Flow::Ends(idle, "its latch says that it is awake"));
            }
            Call::WorkFound => {
                shared.lower_inactive()?;
                if shared.sleeping == 0 || !has(Guard::Cascade) {
                    return ends("counts itself as active");
                }
                let idle = shared.awake_but_idle();
                let active = self.num_active(shared);
                if idle >= self.many_idle && 2 * idle >= active {
                    return ends("counts itself as active, and leaves the rest to idle workers");
                }
                let look = Look::More(0);
                *call = Call::LooksForMore;
                return Ok(Flow::Looks(
                    look,
                    "counts itself as active, and looks for more work",
                ));
            }
            Call::LooksForMore => return Err("the pool has not answered".to_owned()),
            Call::Announce {
                count,
                queue_was_empty,
                ..
            } => {
                let all_are_awake = !shared.is_sleepy() && shared.sleeping == 0;
                if all_are_awake || !has(Guard::PosterWakes) {
                    return ends("sees that all workers are awake");
                }
                (
                    Call::Increments(count, queue_was_empty),
                    "sees that workers sleep",
                )
            }
            Call::Increments(count, queue_was_empty) => {
                if shared.is_sleepy() {
                    shared.jec += 1;
                }
                let idle = shared.awake_but_idle();
                let helps = queue_was_empty || !has(Guard::Backlog);
                let wanted = count.saturating_sub(if helps { idle } else { 0 });
                let wanted = wanted.min(shared.sleeping);
                let count = wanted.min(self.enough_idle.saturating_sub(idle));
                if count == 0 {
                    return ends("leaves the jobs to idle workers");
                }
                (
                    Call::WakesAt(self.first, count, false),
                    "looks for sleepers",
                )
            }
            Call::WakesAt(worker, _, _) if worker == self.end => {
                return ends("has looked at all workers");
            }
            Call::WakesAt(worker, count, false) => match shared.bits[usize::from(worker)] {
                true => (
                    Call::WakesAt(worker, count, true),
                    "sees the bit of a sleeper",
                ),
                false => (Call::WakesAt(worker + 1, count, false), "sees no bit"),
            },
            Call::WakesAt(worker, count, true) => match world.claim(worker) {
                true => {
                    let wake = Wake::first(without);
                    (
                        Call::Claimed(worker, worker + 1, count - 1, wake),
                        "claims a sleeper",
                    )
                }
                false => (
                    Call::WakesAt(worker + 1, count, false),
                    "passes over a slot",
                ),
            },
            Call::Claimed(worker, next, count, wake) => {
                match waking::step(world, shared, without, worker, wake)? {
                    (Some(wake), what) => (Call::Claimed(worker, next, count, wake), what),
                    (None, what) if count == 0 => return ends(what),
                    (None, what) => (Call::WakesAt(next, count, false), what),
                }
            }
            Call::AnnounceFor(worker) => {
                if shared.sleeping == 0 || !world.claim(worker) {
                    return ends("sees that the worker is awake");
                }
                (claimed(worker), "claims the sleeper")
            }
            Call::WakeWorker(worker) => {
                if !world.claim(worker) {
                    return ends("sees that another thread wakes the worker");
                }
                (claimed(worker), "claims the sleeper")
            }
            Call::Borrow
            | Call::BorrowsAt(_)
            | Call::Lent(..)
            | Call::LentClearsBit(_)
            | Call::GiveBack(_)
            | Call::GivesBackBit(_)
            | Call::GivesBackSlot(_)
            | Call::GivesBackLooks(_)
            | Call::GivesBackClaims(_) => {
                return lending::step(*self, world, shared, call, without);
            }
            Call::Nothing => return ends("has nothing to do"),
        };
        *call = next;
        Ok(Flow::GoesOn(what))
    }

    fn answer(&self, call: &mut Call, finds: bool) {
        *call = match (*call, finds) {
            (Call::LooksLast(worker), true) => Call::ClosesSlot(worker),
            (Call::LooksLast(worker), false) => Call::ChecksSlot(worker),
            // Up to two, of those that sleep.
            (Call::LooksForMore, true) => Call::WakesAt(self.first, 2, false),
            (Call::GivesBackLooks(worker), true) => Call::GivesBackClaims(worker),
            _ => Call::Nothing,
        };
    }

    /// If few workers are awake. Here they always are.
    fn leaves_out(&self, shared: &Shared, worker: u8) -> bool {
        shared.bits[usize::from(worker)]
    }

    fn check(&self, _world: &World, shared: &Shared) -> Result<(), String> {
        if shared.inactive > self.end - self.first {
            return Err("more workers are inactive than there are".to_owned());
        }
        Ok(())
    }

    fn check_end(&self, shared: &Shared) -> Result<(), String> {
        let (sleeping, inactive) = (shared.sleeping, shared.inactive);
        if sleeping + inactive > 0 {
            return Err(format!(
                "{sleeping} sleep and {inactive} are inactive when all has ended"
            ));
        }
        Ok(())
    }
}
