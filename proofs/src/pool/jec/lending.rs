//! How a guest borrows the worker of a sleeper, and gives it back.

use super::{Call, Idle, Jec, Shared, waking::Wake};
use crate::pool::{
    guard::Guard,
    protocol::{Answer, Flow},
    world::{Look, Seat, Slot, World},
};

/// Makes the next step of a call that lends a worker, or takes it back.
///
/// # Errors
/// The rule that the step breaks.
pub(super) fn step(
    jec: Jec,
    world: &mut World,
    shared: &mut Shared,
    call: &mut Call,
    without: &[Guard],
) -> Result<Flow<Idle>, String> {
    let has = |guard| !without.contains(&guard);
    let ends = |what| Ok(Flow::Ends(Answer::None, what));
    let claimed = |worker| Call::Claimed(worker, 0, 0, Wake::first(without));
    let (next, what) = match *call {
        Call::Borrow if shared.sleeping == 0 => {
            return Ok(Flow::Ends(Answer::Lent(None), "sees that no worker sleeps"));
        }
        Call::Borrow => (Call::BorrowsAt(jec.first), "sees that workers sleep"),
        Call::BorrowsAt(worker) if worker == jec.end => {
            return Ok(Flow::Ends(Answer::Lent(None), "finds no sleeper to borrow"));
        }
        Call::BorrowsAt(worker) => {
            let place = world.place(worker);
            let may_be_lent = place.slot == Slot::Asleep && place.seat == Seat::Vacant;
            if shared.bits[usize::from(worker)] && may_be_lent {
                place.slot = Slot::Lent;
                (Call::Lent(worker, true), "takes a sleeper's slot over")
            } else {
                (Call::BorrowsAt(worker + 1), "passes over a worker")
            }
        }
        Call::Lent(worker, is_idle) => {
            if is_idle {
                shared.lower_sleeping()?;
            }
            if is_idle && !has(Guard::LendInOneStep) {
                (Call::Lent(worker, false), "counts the worker as awake")
            } else {
                shared.lower_inactive()?;
                (Call::LentClearsBit(worker), "counts the worker as active")
            }
        }
        Call::LentClearsBit(worker) => {
            shared.bits[usize::from(worker)] = false;
            return Ok(Flow::Ends(
                Answer::Lent(Some(worker)),
                "clears the worker's bit",
            ));
        }
        Call::GiveBack(worker) => {
            shared.inactive += 1;
            shared.raise_sleeping()?;
            (
                Call::GivesBackBit(worker),
                "counts the worker as asleep again",
            )
        }
        Call::GivesBackBit(worker) => {
            shared.bits[usize::from(worker)] = true;
            (Call::GivesBackSlot(worker), "sets the worker's bit")
        }
        Call::GivesBackSlot(worker) => {
            world.place(worker).slot = Slot::Asleep;
            (Call::GivesBackLooks(worker), "opens the worker's slot")
        }
        Call::GivesBackLooks(worker) => {
            if !has(Guard::GuestLooks) {
                return ends("does not look for work");
            }
            let look = match has(Guard::GuestLooksAtLatch) {
                true => Look::GivenBack(worker),
                false => Look::GivenBackWithoutLatch(worker),
            };
            return Ok(Flow::Looks(look, "executes a fence, and looks for work"));
        }
        Call::GivesBackClaims(worker) => {
            if !world.claim(worker) {
                return ends("sees that another thread wakes the worker");
            }
            (claimed(worker), "claims the worker")
        }
        _ => return Err("the call lends no worker".to_owned()),
    };
    *call = next;
    Ok(Flow::GoesOn(what))
}
