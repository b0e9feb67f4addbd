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
    ArrayChannel, AwakeSet, Busy, Classic, ClassicSlot, HintSlot, Hints, IdlePolicy, Jec,
    LendSeats, Slot, Sockets,
};

/// Returns the message of a check that fails.
fn failure(check: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(check)).expect_err("the check passes");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => String::from(*payload.downcast::<&str>().expect("a message")),
    }
}

fn slots<T>(workers: usize, slot: fn(ScheduledParker) -> T) -> Box<[T]> {
    let parkers = (0..workers).map(|_| ScheduledParker::new());
    parkers.map(slot).collect()
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
    check_all(|workers| Jec::new(slots(workers, Slot::new), IdlePolicy::IMMEDIATE).unwrap());
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn sockets_pass() {
    check_all(|workers| {
        let jec = |size| Jec::new(slots(size, Slot::new), IdlePolicy::IMMEDIATE).unwrap();
        let first = workers.div_ceil(2);
        let sizes = [first, workers - first];
        let sockets = sizes.into_iter().filter(|&size| size > 0).map(jec);
        Sockets::new(sockets.collect::<Box<[_]>>()).unwrap()
    });
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn classic_passes() {
    check_all(|workers| Classic::new(slots(workers, ClassicSlot::new), IdlePolicy::IMMEDIATE));
}

#[test]
#[cfg_attr(miri, ignore = "thousands of schedules")]
fn hints_pass() {
    check_all(|workers| {
        let slot = |_| HintSlot::new(ArrayChannel::<_>::new(ScheduledParker::new()));
        let slots: Box<[_]> = (0..workers).map(slot).collect();
        Hints::<_>::new(slots, IdlePolicy::IMMEDIATE).unwrap()
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
