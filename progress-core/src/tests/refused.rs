//! A system that takes its heavy fence back, and may grant it again.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::*;

std::thread_local! {
    /// Whether this thread's test has a heavy fence now.
    static IS_GRANTED: Cell<bool> = const { Cell::new(true) };
}

enum Revocable {}

// SAFETY: obligations 1 and 2: no test has another thread. Obligation 3: neither function unwinds.
unsafe impl AsymmetricFence for Revocable {
    fn light() {}

    fn heavy() -> bool {
        IS_GRANTED.get()
    }
}

type Revoked = Progress<(TestParker, Box<[Participant<TestParker>]>, Revocable)>;

fn progress() -> Revoked {
    Progress::new(
        (0..2)
            .map(|_| Participant::new(TestParker::new()))
            .collect(),
    )
}

#[test]
fn without_a_heavy_fence_nothing_is_freed() {
    let progress = progress();
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    IS_GRANTED.set(false);
    let mut active = thread.activate();
    let value = active.later();
    active.schedule(counting(&tally));
    // One advance may pass, because it rests on the fence after the last one. A second one may not.
    for _ in 0..10 {
        active.tick();
        let _may_lead = active.update();
    }
    drop(active);
    for _ in 0..10 {
        assert!(!progress.has_reached(value));
        thread.run_reached();
    }
    drop(progress.delay());
    assert_eq!(tally.load(SeqCst), 0);

    IS_GRANTED.set(true);
    while thread.has_operations() {
        thread.run_reached();
        assert!(progress.has_reached(value));
    }
    assert_eq!(tally.load(SeqCst), 1);
}

/// A worker of a pool leaves its operations, looks whether any are due, and ends. No thread looks
/// after that.
#[test]
fn a_thread_that_waits_makes_no_progress_when_it_is_dropped() {
    let progress = progress();
    let tally = StdArc::new(Tally::new(0));
    let mut thread = progress.register().unwrap();
    IS_GRANTED.set(false);
    thread.activate().schedule(counting(&tally));
    thread.leave_operations();
    assert!(!progress.has_due());
    IS_GRANTED.set(true);
    drop(thread);
    assert!(!progress.has_due());

    let mut other = progress.register().unwrap();
    while tally.load(SeqCst) == 0 {
        other.activate().tick();
    }
}

#[test]
fn what_is_left_is_freed_with_the_instance() {
    let progress = progress();
    let tally = StdArc::new(Tally::new(0));
    IS_GRANTED.set(false);
    let mut thread = progress.register().unwrap();
    thread.activate().schedule(counting(&tally));
    drop(thread);
    assert_eq!(tally.load(SeqCst), 0);
    drop(progress);
    assert_eq!(tally.load(SeqCst), 1);
}

#[test]
fn blocking_without_a_heavy_fence_panics_and_leaves_no_thread_blocked() {
    let progress = progress();
    let mut thread = progress.register().unwrap();
    IS_GRANTED.set(false);
    let result = catch_unwind(AssertUnwindSafe(|| drop(thread.block())));
    assert!(result.is_err());
    drop(progress.register().unwrap().activate());
    IS_GRANTED.set(true);
    drop(thread.block());
}
