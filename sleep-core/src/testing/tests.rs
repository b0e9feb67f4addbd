mod faulty;
mod loops;
mod parkers;
mod queues;

use std::{
    boxed::Box,
    panic::{AssertUnwindSafe, catch_unwind},
    string::String,
};

use super::*;
use crate::{
    ArrayChannel, AwakeSet, Busy, Classic, HintSlot, Hints, IdlePolicy, Jec, LendSeats, Slot,
};

/// Returns the message of a check that fails.
fn failure(check: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(check)).expect_err("the check passes");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => String::from(*payload.downcast::<&str>().expect("a message")),
    }
}

fn slots(workers: usize) -> Box<[Slot<ScheduledParker>]> {
    (0..workers)
        .map(|_| Slot::new(ScheduledParker::new()))
        .collect()
}

/// Runs all checks of a protocol of this crate.
fn check_all<S>(make: impl Fn(usize) -> S)
where
    S: LendSeats<Parker = ScheduledParker> + AwakeSet + Send + Sync + 'static,
{
    check_protocol(&make);
    check_lending(&make);
    check_awake_set(&make);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn jec_passes() {
    check_all(|workers| Jec::<_, _>::new(slots(workers), IdlePolicy::IMMEDIATE).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn classic_passes() {
    check_all(|workers| Classic::<_, _>::new(slots(workers), IdlePolicy::IMMEDIATE).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn hints_pass() {
    check_all(|workers| {
        let slot = |_| HintSlot::new(ArrayChannel::new(ScheduledParker::new()));
        let slots: Box<[_]> = (0..workers).map(slot).collect();
        Hints::<ArrayChannel<ScheduledParker>, _>::new(slots, IdlePolicy::IMMEDIATE).unwrap()
    });
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn the_protocol_of_the_module_passes() {
    check_all(LastLook::new);
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn busy_passes() {
    check_all(|workers| {
        let parkers: Box<[_]> = (0..workers).map(|_| ScheduledParker::new()).collect();
        Busy::new(parkers, IdlePolicy::IMMEDIATE)
    });
}
