//! Nested guards of one thread, and operations that run while the thread is not borrowed.

use super::*;

/// Makes all the progress that is possible.
fn advance_fully(thread: &mut ManagedThread<'_, TestDomain>) {
    let mut active = thread.activate();
    for _ in 0..5 {
        active.tick();
    }
}

#[test]
fn the_last_guard_of_a_thread_ends_its_reading() {
    let progress = progress(2);
    let (reader, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    let outer = reader.pin();
    let value = progress.later();
    let inner = reader.pin();
    advance_fully(&mut other);
    drop(inner);
    advance_fully(&mut other);
    assert!(!progress.has_reached(value), "the outer frame reads still");
    let inner = reader.pin();
    drop(outer);
    advance_fully(&mut other);
    assert!(!progress.has_reached(value), "in any order");
    drop(inner);
    advance_fully(&mut other);
    assert!(progress.has_reached(value));
}

/// Checks that a forgotten guard does not make the thread take itself for active.
#[test]
fn a_forgotten_pin_is_not_counted_among_later_ones() {
    let progress = progress(2);
    let (mut reader, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    core::mem::forget(reader.pin());
    drop(reader.activate());
    let pinned = reader.pin();
    let value = progress.later();
    advance_fully(&mut other);
    assert!(!progress.has_reached(value), "the thread reads");
    drop(pinned);
    advance_fully(&mut other);
    assert!(progress.has_reached(value));
}

#[test]
fn a_thread_can_be_used_while_its_operations_run() {
    let progress = progress(1);
    let mut thread = progress.register().unwrap();
    let tally = StdArc::new(Tally::new(0));
    let mut operations = Operations::new();
    for _ in 0..3 {
        operations.push(counting(&tally));
    }
    assert_eq!(operations.len(), 3);
    thread.schedule_all(operations);
    assert!(thread.take_due().is_none(), "not yet");
    assert_eq!(thread.pending(), 3);
    let value = progress.later();
    thread.wait_for(value);
    let due = thread.take_due().unwrap();
    assert_eq!(thread.pending(), 2);
    thread.schedule(counting(&tally));
    due.run();
    assert_eq!(tally.load(SeqCst), 1);
    drop(thread.take_due());
    assert_eq!(tally.load(SeqCst), 2, "a drop runs it too");
    assert_eq!(thread.run_reached(), 1);
    drop(thread);
    drop(progress);
    assert_eq!(tally.load(SeqCst), 4);
}
