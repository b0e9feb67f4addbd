//! Parkers and wake-ups that panic: what the other threads find afterwards.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr},
        mpsc,
    },
    thread,
};

use super::*;
use crate::moment::WAITING;

type Script = Box<dyn FnOnce() + Send>;

/// A parker that calls a closure once instead of the next `park`, or after the next `unpark`.
struct Scripted {
    parker: TestParker,
    on_park: Mutex<Option<Script>>,
    on_unpark: Mutex<Option<Script>>,
    unparks: Tally,
}

impl Scripted {
    fn on_park(&self, script: impl FnOnce() + Send + 'static) {
        *self.on_park.lock().unwrap() = Some(Box::new(script));
    }

    fn on_unpark(&self, script: impl FnOnce() + Send + 'static) {
        *self.on_unpark.lock().unwrap() = Some(Box::new(script));
    }

    fn call(script: &Mutex<Option<Script>>) -> bool {
        let script = script.lock().unwrap().take();
        script.map(|script| script()).is_some()
    }
}

impl Parker for Scripted {
    fn park(&self) {
        if !Self::call(&self.on_park) {
            self.parker.park();
        }
    }

    fn unpark(&self) {
        self.unparks.fetch_add(1, SeqCst);
        self.parker.unpark();
        Self::call(&self.on_unpark);
    }
}

type ScriptedDomain = (Scripted, Box<[Participant<Scripted>]>);
type ScriptedProgress = Progress<ScriptedDomain>;

fn scripted(participants: usize) -> ScriptedProgress {
    let parker = |_| {
        Participant::new(Scripted {
            parker: TestParker::new(),
            on_park: Mutex::new(None),
            on_unpark: Mutex::new(None),
            unparks: Tally::new(0),
        })
    };
    Progress::new((0..participants).map(parker).collect())
}

/// Returns the parker of a participant.
fn parker(progress: &ScriptedProgress, index: usize) -> &Scripted {
    progress.participants()[index].parker()
}

fn panics<R>(call: impl FnOnce() -> R) -> bool {
    catch_unwind(AssertUnwindSafe(|| drop(call()))).is_err()
}

/// Calls `update` of a guard while another thread blocks, and panics in a parker meanwhile.
/// `set_up` gives the panic to the parker of the first participant, which reads, or of the second,
/// which blocks. Then reads what is retired afterwards.
fn update_beside_a_blocker(set_up: fn(&ScriptedProgress, Script)) {
    let progress = scripted(2);
    let first = Box::into_raw(Box::new(Reclaimable::new(1_u32)));
    let shared = AtomicPtr::new(first);
    let mut reader = progress.register().unwrap();
    let mut active = reader.activate();
    let (panics_now, panicked) = mpsc::channel();
    set_up(
        &progress,
        Box::new(move || {
            panics_now.send(()).unwrap();
            panic!("of a parker");
        }),
    );
    thread::scope(|scope| {
        let progress = &progress;
        scope.spawn(move || {
            let mut blocker = progress.register().unwrap();
            let blocked = blocker.block();
            panicked.recv().unwrap();
            drop(blocked);
        });
        while !progress.state().is_blocked() {
            thread::yield_now();
        }
        assert!(panics(|| active.update()));
    });

    // SAFETY: the guard lives, and the value is in reach.
    let value = unsafe { &*shared.load(SeqCst) };
    let second = Box::into_raw(Box::new(Reclaimable::new(2)));
    // SAFETY: obligation 1: the value came from a box. Obligation 2: it is out of reach.
    unsafe { progress.retire(shared.swap(second, SeqCst)) };
    assert_eq!(**value, 1, "under Miri: this is not freed");
    assert_ne!(active.thread.confirmed(), WAITING, "the guard lives");
    drop(active);
    assert_eq!(progress.run_reached(), 1);
    // SAFETY: this is the last value, and no thread reads.
    drop(unsafe { Box::from_raw(second) });
}

/// Reproduces a bug: the guard delayed nothing any more, and its thread read what was freed.
#[test]
fn a_guard_protects_after_its_parker_panicked_in_an_update() {
    update_beside_a_blocker(|progress, script| parker(progress, 0).on_park(script));
}

/// Reproduces the same bug.
#[test]
fn a_guard_protects_after_the_parker_of_a_blocker_panicked_in_an_update() {
    update_beside_a_blocker(|progress, script| parker(progress, 1).on_unpark(script));
}

/// Reproduces a bug: the thread counted a guard that it did not have, and the next call returned
/// while another thread was active.
#[test]
fn blocking_waits_again_after_its_parker_panicked() {
    let progress = scripted(3);
    let (mut reader, mut blocker) = (progress.register().unwrap(), progress.register().unwrap());
    let active = reader.activate();
    for _ in 0..2 {
        parker(&progress, 1).on_park(|| panic!("of a parker"));
        assert!(panics(|| blocker.block()), "it waits for the first thread");
        assert!(!progress.state().is_blocked(), "it has given up");
    }
    drop(progress.register().unwrap().activate());
    drop(active);
    drop(blocker.block());
    drop(reader.activate());
}

/// Reproduces a bug: the thread counted a guard that it did not have, and ended the block of
/// another thread when it was dropped.
#[test]
fn a_thread_that_panicked_before_it_blocked_leaves_another_blocker_alone() {
    let progress = scripted(2);
    let (mut one, mut other) = (progress.register().unwrap(), progress.register().unwrap());
    let blocked = one.block();
    parker(&progress, 1).on_park(|| panic!("of a parker"));
    assert!(panics(|| other.block()), "it waits for the first thread");
    drop(other);
    assert!(progress.state().is_blocked(), "the first thread blocks");
    drop(blocked);
    assert!(!progress.state().is_blocked());
}

/// Checks that all threads that were stopped are woken, even if waking one of them panics.
#[test]
fn the_end_of_a_block_wakes_all_threads() {
    let progress = scripted(4);
    let mut blocker = progress.register().unwrap();
    let blocked = blocker.block();
    parker(&progress, 1).on_unpark(|| panic!("of a parker"));
    assert!(panics(|| drop(blocked)));
    for index in 0..4 {
        assert_eq!(parker(&progress, index).unparks.load(SeqCst), 1, "{index}");
    }
}

/// Checks that a panic in the middle of an advance neither keeps the leadership nor forgets the
/// threads that would have been woken after it.
#[test]
fn all_wake_ups_come_after_a_parker_panicked_in_an_advance() {
    let progress = scripted(3);
    let threads = [(); 3].map(|()| progress.register().unwrap());
    let tally = StdArc::new(Tally::new(0));
    let delay = progress.delay();
    let moment = progress.later();
    for thread in &threads {
        thread.wakeup(moment);
    }
    progress.wakeup(moment, counting(&tally));
    progress.schedule(counting(&tally));
    parker(&progress, 0).on_unpark(|| panic!("of a parker"));
    assert!(panics(|| drop(delay)));
    for index in 0..3 {
        assert_eq!(parker(&progress, index).unparks.load(SeqCst), 1, "{index}");
    }
    assert_eq!(tally.load(SeqCst), 1, "the wake-up");
    assert_eq!(progress.run_reached(), 1, "{progress:?}");
    let moment = progress.later();
    assert!((0..3).any(|_| progress.has_reached(moment)), "{progress:?}");
}

/// Checks the same for the closure of a wake-up, which must not panic either.
#[test]
fn all_wake_ups_come_after_one_panicked() {
    for polls in [false, true] {
        let progress = scripted(1);
        let tally = StdArc::new(Tally::new(0));
        let delay = progress.delay();
        let first = progress.later();
        assert!(!progress.has_reached(first), "this makes one advance");
        let second = progress.later();
        let next_delay = progress.delay();
        for number in 0..5 {
            match number {
                2 => progress.wakeup(first, Box::new(Operation::new(|| panic!("of a wake-up")))),
                _ => progress.wakeup(first, counting(&tally)),
            }
            progress.wakeup(second, counting(&tally));
        }
        progress.schedule(counting(&tally));
        if polls {
            // The end of the delay finds a leader, and the leader makes the advance.
            assert!(progress.try_lead());
            drop(delay);
            progress.stop_leading();
            assert!(panics(|| progress.has_reached(first)));
        } else {
            assert!(panics(|| drop(delay)));
        }
        assert_eq!(tally.load(SeqCst), 4, "{progress:?}");
        drop(next_delay);
        assert_eq!(tally.load(SeqCst), 4 + 5, "{progress:?}");
        assert_eq!(progress.run_reached(), 1, "{progress:?}");
        assert_eq!(tally.load(SeqCst), 4 + 5 + 1);
    }
}

/// Checks that a panic of a wake-up whose moment is reached already does not hide those of others,
/// which the thread has taken out of the stack meanwhile.
#[test]
fn a_late_wake_up_that_panics_leaves_the_others() {
    let progress = scripted(0);
    let past = progress.later();
    while !progress.has_reached(past) {}
    let tally = StdArc::new(Tally::new(0));
    let delay = progress.delay();
    assert!(!progress.has_reached(progress.later()), "one advance");
    progress.wakeup(progress.later(), counting(&tally));
    let wakeup = Box::new(Operation::new(|| panic!("of a wake-up")));
    assert!(panics(|| progress.wakeup(past, wakeup)));
    drop(delay);
    assert_eq!(tally.load(SeqCst), 1, "{progress:?}");
}

/// Checks that a thread that waits with a parker of its own returns, although waking it panics in
/// another thread.
#[test]
fn a_wait_ends_although_its_parker_panics_in_the_thread_that_wakes_it() {
    struct PanicsAfterwards(TestParker);
    impl Parker for PanicsAfterwards {
        fn park(&self) {
            self.0.park();
        }
        fn unpark(&self) {
            self.0.unpark();
            panic!("of a parker");
        }
    }
    let progress = scripted(0);
    let delay = progress.delay();
    let moment = progress.later();
    thread::scope(|scope| {
        // Either thread may make the advance, and then panics.
        scope.spawn(|| panics(|| progress.wait_for(moment, &PanicsAfterwards(TestParker::new()))));
        while progress.unowned.is_empty() {
            thread::yield_now();
        }
        panics(|| drop(delay));
    });
}

/// Checks that a thread whose own parker panics keeps its frame until another thread has woken it,
/// and has no exclusive reference to it meanwhile. Only Miri sees such a reference.
#[test]
fn a_thread_whose_parker_panics_waits_for_the_thread_that_wakes_it() {
    struct PanicsWhenParked(AtomicBool);
    impl Parker for PanicsWhenParked {
        fn park(&self) {
            self.0.store(true, SeqCst);
            panic!("of a parker");
        }
        fn unpark(&self) {}
    }
    let progress = scripted(0);
    let delay = progress.delay();
    let moment = progress.later();
    let parker = PanicsWhenParked(AtomicBool::new(false));
    thread::scope(|scope| {
        let waits = scope.spawn(|| panics(|| progress.wait_for(moment, &parker)));
        while !parker.0.load(SeqCst) {
            thread::yield_now();
        }
        // The thread unwinds meanwhile.
        (0..100).for_each(|_| thread::yield_now());
        drop(delay);
        assert!(waits.join().unwrap());
    });
}

/// Checks that a panic while a thread or a reader ends does not keep its participant, its block or
/// its operations.
#[test]
fn a_thread_that_panics_while_it_ends_leaves_nothing_behind() {
    let progress = scripted(2);
    let tally = StdArc::new(Tally::new(0));
    let waits = progress.register().unwrap();
    for is_reader in [true, false] {
        let moment;
        if is_reader {
            let mut reader = progress.register_reader().unwrap();
            core::mem::forget(reader.delay());
            moment = progress.later();
            waits.wakeup(moment);
            parker(&progress, 0).on_unpark(|| panic!("of a parker"));
            assert!(panics(|| drop(reader)));
        } else {
            let mut thread = progress.register().unwrap();
            thread.schedule(counting(&tally));
            core::mem::forget(thread.block());
            core::mem::forget(thread.activate());
            moment = progress.later();
            waits.wakeup(moment);
            parker(&progress, 0).on_unpark(|| panic!("of a parker"));
            assert!(panics(|| drop(thread)));
            assert!(!progress.state().is_blocked());
            assert_eq!(progress.run_reached(), 1, "{progress:?}");
        }
        assert!(progress.has_reached(moment));
        drop(progress.register().expect("the slot is free again"));
    }
}

#[test]
fn the_drop_of_an_instance_runs_all_operations_although_one_panics() {
    let progress = scripted(0);
    let tally = StdArc::new(Tally::new(0));
    core::mem::forget(progress.delay());
    let moment = progress.later();
    for _ in 0..3 {
        progress.wakeup(moment, counting(&tally));
        progress.schedule(counting(&tally));
    }
    progress.wakeup(
        moment,
        Box::new(Operation::new(|| panic!("of an operation"))),
    );
    progress.wakeup(moment, counting(&tally));
    assert!(panics(|| drop(progress)));
    assert_eq!(tally.load(SeqCst), 7);
}
