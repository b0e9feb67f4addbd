use std::sync::atomic::{AtomicBool, AtomicUsize as Tally, Ordering::Relaxed};

use ::loom::{cell::UnsafeCell, sync::Arc, thread};

use super::*;

/// A latch, what the setter wrote before, and what the waiter wrote before it fell asleep.
#[derive(Default)]
struct Scene {
    latch: CoreLatch,
    result: UnsafeCell<u8>,
    slot: UnsafeCell<u8>,
    /// Not of loom, so it orders nothing.
    was_set: AtomicBool,
}

// SAFETY: the cells are handed over by the latch, which loom checks.
unsafe impl Sync for Scene {}
// SAFETY: as above.
unsafe impl Send for Scene {}

impl Scene {
    /// Plays a setter.
    fn set(&self) -> bool {
        // SAFETY: the waiter reads only after it has seen the latch set.
        self.result.with_mut(|result| unsafe { *result = 1 });
        let must_wake = set(&self.latch);
        if must_wake {
            // SAFETY: the waiter wrote before it fell asleep, and does not write again.
            self.slot.with(|slot| assert_eq!(unsafe { *slot }, 1));
        }
        self.was_set.store(true, Relaxed);
        must_wake
    }

    /// Plays a waiter that goes to sleep.
    fn fall_asleep(&self) -> bool {
        self.latch.get_sleepy() && {
            // SAFETY: the setter reads only after it has seen the latch asleep.
            self.slot.with_mut(|slot| unsafe { *slot = 1 });
            self.latch.fall_asleep()
        }
    }

    fn read_result(&self) {
        // SAFETY: callers have seen that the latch was set.
        self.result.with(|result| assert_eq!(unsafe { *result }, 1));
    }
}

/// Models one waiter that takes its steps and one setter: the setter is told to wake exactly when
/// the waiter came as far as SLEEPING. What it wrote before is visible as soon as the waiter sees
/// the latch set, and what the waiter wrote is visible to a setter that must wake it.
#[test]
fn set_against_every_step() {
    static WOKEN: Tally = Tally::new(0);
    static TURNED_BACK: Tally = Tally::new(0);
    static SEEN: Tally = Tally::new(0);
    ::loom::model(|| {
        let scene = Arc::new(Scene::default());
        let setter = {
            let scene = scene.clone();
            thread::spawn(move || scene.set())
        };
        let slept = scene.fall_asleep();
        // Before the setter is joined, which would show all that it did.
        if scene.latch.probe() {
            scene.read_result();
            SEEN.fetch_add(1, Relaxed);
        }
        assert_eq!(slept, setter.join().unwrap());
        assert!(scene.latch.probe());
        (if slept { &WOKEN } else { &TURNED_BACK }).fetch_add(1, Relaxed);
    });
    assert!(
        [&WOKEN, &TURNED_BACK, &SEEN]
            .iter()
            .all(|tally| tally.load(Relaxed) > 0),
        "all ends were explored"
    );
}

/// Models a reset that comes after a set: it receives what the setter wrote, without a look at the
/// latch.
#[test]
fn a_reset_after_a_set_receives_what_was_written() {
    static SEEN: Tally = Tally::new(0);
    ::loom::model(|| {
        let scene = Arc::new(Scene::default());
        let setter = {
            let scene = scene.clone();
            thread::spawn(move || scene.set())
        };
        thread::yield_now();
        let was_set = scene.was_set.load(Relaxed);
        scene.latch.reset();
        if was_set {
            scene.read_result();
            SEEN.fetch_add(1, Relaxed);
        }
        setter.join().unwrap();
    });
    assert!(SEEN.load(Relaxed) > 0, "a late reset was explored");
}

/// Models a waiter that turns back from SLEEPING while the setter sets: the latch ends up set.
#[test]
fn a_spurious_wake_loses_no_set() {
    ::loom::model(|| {
        let latch = Arc::new(CoreLatch::new());
        let setter = {
            let latch = latch.clone();
            thread::spawn(move || set(&latch))
        };
        if latch.get_sleepy() && latch.fall_asleep() {
            latch.wake_up();
        }
        setter.join().unwrap();
        assert!(latch.probe());
        latch.wake_up();
        assert!(latch.probe());
    });
}
