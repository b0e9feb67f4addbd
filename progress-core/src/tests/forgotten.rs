//! Guards and handles that are forgotten: what they delay ends, and no count overflows.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::moment::WAITING;

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(call()))).is_err()
}

/// Reproduces a bug: the thread waited when it was dropped, and kept the leadership for good.
#[test]
fn a_forgotten_leader_that_pins_afterwards_leads_no_longer_than_it_lives() {
    let progress = progress(2);
    let (mut one, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    let _moment = progress.later();
    let mut active = one.activate();
    assert!(active.update(), "it leads");
    core::mem::forget(active);
    drop(one.pin());
    assert_eq!(one.confirmed(), WAITING);
    drop(one);
    other.wait_for(progress.later());
}

/// Reproduces a bug: the thread gave the leadership up when it was dropped, and did not look at
/// what others had left to it as the leader. They waited for good.
#[test]
fn a_forgotten_leader_makes_the_progress_that_was_left_to_it_when_it_ends() {
    let progress = progress(2);
    let (mut one, other) = (progress.register().unwrap(), progress.register().unwrap());
    let moment = progress.later();
    let mut active = one.activate();
    assert!(active.update(), "it leads");
    core::mem::forget(active);
    drop(one.pin());
    other.wakeup(moment);
    assert!(
        !is_reached(progress.current(), moment.raw),
        "left to the leader"
    );
    drop(one);
    assert!(is_reached(progress.current(), moment.raw), "{progress:?}");
    // The parker has its token: this does not block.
    other.participant().parker().park();
}

/// Reproduces a bug: after an overflow of the count, the thread waited for itself to end its block.
#[test]
fn more_forgotten_blocks_than_can_be_counted_are_refused() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    core::mem::forget(thread.block());
    thread.blocks = usize::MAX;
    assert!(panics(|| thread.block()));
    assert_eq!(thread.blocks, usize::MAX);
    drop(thread);
    assert!(!progress.state().is_blocked());
}

/// Reproduces a bug on 32-bit targets: forgotten delays made a counter reach its mark, which hid a
/// delay that lived.
#[test]
#[cfg(not(target_pointer_width = "64"))]
fn more_forgotten_delays_than_can_be_counted_are_refused() {
    let progress = progress(0);
    let delay = progress.delay_counted();
    progress.delays.add_to_all(usize::MAX / 4 + 1);
    assert!(panics(|| progress.delay_counted()));
    let moment = progress.later();
    assert!(
        !(0..9).any(|_| progress.has_reached(moment)),
        "{progress:?}"
    );
    drop(delay);
}

/// Checks that what a forgotten handle has left in its participant does not reach the next
/// instance.
#[test]
fn participants_of_an_instance_that_has_ended_are_as_new() {
    let mut participants = [(); 2].map(|()| Participant::new(TestParker::new()));
    for _ in 0..2 {
        let progress: Progress<(TestParker, &mut [_])> = Progress::new(&mut participants[..]);
        let mut forgotten = progress.register().unwrap();
        core::mem::forget(progress.delay());
        forgotten.wakeup(progress.later());
        core::mem::forget(forgotten.activate());
        core::mem::forget(forgotten);
        let mut other = progress.register().expect("both slots are free");
        drop(other.activate());
    }
    let progress: Progress<(TestParker, &mut [_])> = Progress::new(&mut participants[..]);
    let moment = progress.later();
    assert!((0..3).any(|_| progress.has_reached(moment)), "{progress:?}");
    assert!(!progress.state().has_wakeups());
}

#[test]
fn a_forgotten_guard_holds_up_until_its_thread_goes() {
    let progress = progress(2);
    let (mut one, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    core::mem::forget(one.activate());
    core::mem::forget(one.block());
    let value = progress.later();
    drop(one);
    other.wait_for(value);
    drop(other.activate());
}

/// Reproduces a bug: the next guard of the same thread did not know that the thread led.
#[test]
fn a_forgotten_leader_leads_no_longer_than_its_next_guard() {
    let progress = progress(2);
    let (mut one, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    let value = progress.later();
    let mut active = one.activate();
    assert!(active.update(), "it leads");
    core::mem::forget(active);
    drop(one.activate());
    other.wait_for(value);
}
