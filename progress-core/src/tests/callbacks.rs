//! Operations and wake-ups that use the instance, and guards that end on another thread.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use super::*;

/// Uses all of an instance that a thread may use without waiting.
fn use_all(progress: &'static TestProgress, tally: &StdArc<Tally>) {
    progress.schedule(counting(tally));
    let past = progress.later();
    let _is_reached = progress.has_reached(past);
    progress.wakeup(past, counting(tally));
    drop(progress.delay());
    drop(progress.register_reader().unwrap().delay());
    let mut thread = progress.register().unwrap();
    thread.schedule(counting(tally));
    drop(thread.pin());
    let mut active = thread.activate();
    active.tick();
    drop(active);
    progress.run_reached();
    tally.fetch_add(1, SeqCst);
}

/// Calls `use_all` in an operation of a managed thread, in one that belongs to no thread, and in a
/// wake-up, which runs in the middle of an advance.
#[test]
fn operations_and_wake_ups_may_use_the_instance() {
    let owned = Box::into_raw(Box::new(progress(4)));
    // SAFETY: it is dropped below, when no reference is used any more.
    let progress: &'static TestProgress = unsafe { &*owned };
    let tally = StdArc::new(Tally::new(0));
    let calls_back = || {
        let tally = tally.clone();
        Box::new(Operation::new(move || use_all(progress, &tally)))
    };
    let mut managed = progress.register().unwrap();
    let delay = progress.delay();
    progress.schedule(calls_back());
    progress.wakeup(progress.later(), calls_back());
    managed.schedule(calls_back());
    assert_eq!(managed.run_reached(), 0);
    drop(delay);
    managed.activate().tick();
    while managed.has_operations() {
        managed.wait();
    }
    drop(managed);
    progress.run_reached();
    assert_eq!(tally.load(SeqCst), 3 * 4, "{progress:?}");
    assert!(
        !progress
            .shared
            .is_led
            .load(sleep_primitives::Ordering::Relaxed)
    );
    // SAFETY: it came from a box, and all that used it has ended.
    drop(unsafe { Box::from_raw(owned) });
}

#[test]
fn an_operation_that_panics_leaves_the_others_to_its_thread() {
    let progress = progress(1);
    let tally = StdArc::new(Tally::new(0));
    let mut thread = progress.register().unwrap();
    let mut active = thread.activate();
    active.schedule(counting(&tally));
    active.defer(|| panic!("of an operation"));
    active.schedule(counting(&tally));
    while catch_unwind(AssertUnwindSafe(|| active.tick())).is_ok() {}
    assert_eq!(tally.load(SeqCst), 1);
    assert_eq!(active.tick(), 1);
    drop(active);
    assert_eq!((thread.pending(), tally.load(SeqCst)), (0, 2));
}

/// Checks delays and readers, which may move to another thread. They end in another order than they
/// began.
#[test]
fn guards_may_end_on_another_thread() {
    let progress = progress(1);
    let mut reader = progress.register_reader().unwrap();
    let (first, second, reading) = (progress.delay(), progress.delay(), reader.delay());
    let moment = progress.later();
    thread::scope(|scope| {
        for guard in [first, second] {
            assert!(!progress.has_reached(moment));
            scope.spawn(move || drop(guard)).join().unwrap();
        }
        assert!(!progress.has_reached(moment), "the reader");
        scope.spawn(move || drop(reading)).join().unwrap();
    });
    assert!((0..3).any(|_| progress.has_reached(moment)), "{progress:?}");
    thread::scope(|scope| scope.spawn(move || drop(reader)).join().unwrap());
    assert!(progress.register().is_ok());
}
