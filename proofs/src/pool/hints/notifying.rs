//! How a thread notifies workers of jobs.

use super::{
    call::{Call, Then},
    shared::{HintSlot, Shared},
};
use crate::pool::{guard::Guard, world::World};

/// Makes the next step of a notification. Returns where the call is then, and what was done.
pub(super) fn step(
    world: &mut World,
    shared: &mut Shared,
    without: &[Guard],
    call: Call,
) -> (Call, &'static str) {
    use HintSlot::{Asleep, Awake, Busy, Notified, Searching};

    let has = |guard| !without.contains(&guard);
    let num_workers = world.num_workers();
    match call {
        Call::Notifies {
            count,
            anywhere,
            then,
        } => {
            let available = shared.units.max(0) as u8;
            let units = count.min(available);
            let lowest = -(num_workers as i8);
            if !has(Guard::PosterWakes) && then == Then::PosterEnds {
                return (Call::Nothing, "wakes no worker");
            }
            shared.units = match anywhere && has(Guard::NotificationWaits) {
                true => (shared.units - count as i8).max(lowest),
                false => shared.units - units as i8,
            };
            if units == 0 {
                (after(then), "takes no unit")
            } else {
                let next = Call::Spends {
                    worker: 0,
                    left: units,
                    stale: 0,
                    anywhere,
                    then,
                };
                (next, "takes units")
            }
        }
        Call::Spends {
            left: 0,
            stale,
            anywhere,
            then,
            ..
        } => match stale {
            0 => (after(then), "has spent its units"),
            count if has(Guard::StaleIsRepeated) => {
                let next = Call::Notifies {
                    count,
                    anywhere,
                    then,
                };
                (next, "notifies again, for workers that run jobs")
            }
            _ => (after(then), "has spent its units, some of them in vain"),
        },
        Call::Spends {
            worker,
            left,
            stale,
            anywhere,
            then,
        } => {
            let following = (worker + 1) % num_workers;
            let goes_on = |left, stale| Call::Spends {
                worker: following,
                left,
                stale,
                anywhere,
                then,
            };
            if shared.exchange(world, worker, &[Asleep], Notified) {
                let next = Call::Unparks {
                    worker,
                    left: left - 1,
                    stale,
                    anywhere,
                    then,
                };
                (next, "claims a sleeper")
            } else if shared.exchange(world, worker, &[Searching], Notified) {
                (goes_on(left - 1, stale), "claims a worker that searches")
            } else if shared.exchange(world, worker, &[Busy], Awake) {
                (goes_on(left - 1, stale + 1), "discards a registration")
            } else {
                (goes_on(left, stale), "passes over a worker")
            }
        }
        Call::Unparks {
            worker,
            left,
            stale,
            anywhere,
            then,
        } => {
            world.unpark(worker, has(Guard::Token));
            let next = Call::Spends {
                worker: (worker + 1) % num_workers,
                left,
                stale,
                anywhere,
                then,
            };
            (next, "unparks it")
        }
        _ => unreachable!("the call notifies"),
    }
}

/// Returns how a call goes on after its notification.
fn after(then: Then) -> Call {
    match then {
        Then::PosterEnds | Then::WorkerEnds => Call::Nothing,
        Then::StaysRegistered => Call::StaysRegistered,
        Then::Cascades => Call::Cascades,
    }
}
