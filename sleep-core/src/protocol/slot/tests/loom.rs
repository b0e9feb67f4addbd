use ::loom::{model, sync::Arc, thread};

use super::super::*;

/// Models a worker that falls asleep twice and a waker that wakes it in between. No fence and no
/// parker takes part, so the count is handed over by the slot alone.
fn check(claim: fn(&SlotState<()>) -> bool) {
    model(move || {
        let slot = Arc::new(SlotState::new(()));
        let worker = {
            let slot = slot.clone();
            thread::spawn(move || {
                let tenant = slot.open();
                while !slot.is_awake(tenant) {
                    thread::yield_now();
                }
                slot.open();
            })
        };
        while !claim(&slot) {
            thread::yield_now();
        }
        slot.release();
        worker.join().unwrap();
    });
}

#[test]
fn a_waker_that_looks_for_a_sleeper_is_handed_the_count() {
    check(SlotState::claim);
}

#[test]
fn a_waker_that_knows_the_sleeper_is_handed_the_count() {
    check(SlotState::claim_known_sleeper);
}
