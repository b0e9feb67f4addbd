//! Nested guards of one thread, and operations that run while the thread is not borrowed.

use std::cell::Cell;

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
fn more_forgotten_pins_than_can_be_counted_are_refused() {
    let progress = progress(1);
    let thread = progress.register().unwrap();
    let pinned = thread.pin();
    thread.pins.set(usize::MAX);
    let pin = std::panic::AssertUnwindSafe(|| drop(thread.pin()));
    assert!(std::panic::catch_unwind(pin).is_err());
    let moment = progress.later();
    assert!(!(0..3).any(|_| progress.has_reached(moment)), "one lives");
    drop(pinned);
    assert_eq!(thread.pins.get(), usize::MAX - 1);
}

/// A parker that ends a block of the others and then pins its own thread. It keeps the guard.
struct Pinning;

type PinningDomain = (Pinning, [Participant<Pinning>; 2]);

std::thread_local! {
    static THREAD: Cell<Option<&'static ManagedThread<'static, PinningDomain>>> =
        const { Cell::new(None) };
    static BLOCKED: Cell<Option<Blocked<'static, 'static, PinningDomain>>> =
        const { Cell::new(None) };
    static KEPT: Cell<Option<Pinned<'static, 'static, PinningDomain>>> = const { Cell::new(None) };
    /// Begins a block after the parker has pinned its thread.
    static BLOCKS_AGAIN: Cell<Option<fn()>> = const { Cell::new(None) };
}

impl Parker for Pinning {
    fn park(&self) {
        drop(BLOCKED.take().expect("a thread that is active parks"));
        KEPT.set(THREAD.get().map(ManagedThread::pin));
        if let Some(block) = BLOCKS_AGAIN.take() {
            block();
        }
    }

    fn unpark(&self) {}
}

/// Reproduces a bug: `pin` counted its own guard alone, although the parker had pinned the thread
/// meanwhile. Then the drop of one guard ended the reading of the other.
#[test]
fn a_pin_within_the_parker_of_another_one_is_counted() {
    static PROGRESS: Progress<PinningDomain> =
        Progress::new([const { Participant::new(Pinning) }; 2]);
    let [owned, blocker] = [(); 2].map(|()| Box::into_raw(Box::new(PROGRESS.register().unwrap())));
    // SAFETY: both are dropped below, when no reference is used any more.
    let (thread, other) = unsafe { (&*owned, &mut *blocker) };
    THREAD.set(Some(thread));
    BLOCKED.set(Some(other.block()));
    let outer = thread.pin();
    let inner = KEPT.take().expect("the thread waited for the blocker");
    let moment = PROGRESS.later();
    drop(outer);
    assert!(
        !(0..3).any(|_| PROGRESS.has_reached(moment)),
        "the parker's guard lives"
    );
    drop(inner);
    assert!((0..3).any(|_| PROGRESS.has_reached(moment)));
    // SAFETY: they came from boxes, and all guards have ended.
    drop(unsafe { (Box::from_raw(owned), Box::from_raw(blocker)) });
}

/// Reproduces a bug: the thread, active by the guard of its parker, waited for the end of the next
/// block, which waited for the thread.
#[test]
fn a_thread_that_its_parker_has_pinned_does_not_wait_for_the_next_block() {
    static PROGRESS: Progress<PinningDomain> =
        Progress::new([const { Participant::new(Pinning) }; 2]);
    let [owned, blocker] = [(); 2].map(|()| Box::into_raw(Box::new(PROGRESS.register().unwrap())));
    // SAFETY: both are dropped below, when no reference is used any more.
    let (thread, other) = unsafe { (&*owned, &mut *blocker) };
    THREAD.set(Some(thread));
    BLOCKED.set(Some(other.block()));
    // As the next blocker does before it waits for the threads that are active.
    BLOCKS_AGAIN.set(Some(|| PROGRESS.shared.state.block()));
    let outer = thread.pin();
    assert!(PROGRESS.state().is_blocked(), "the parker was called once");
    drop((outer, KEPT.take()));
    PROGRESS.shared.state.unblock();
    // SAFETY: they came from boxes, and all guards have ended.
    drop(unsafe { (Box::from_raw(owned), Box::from_raw(blocker)) });
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
