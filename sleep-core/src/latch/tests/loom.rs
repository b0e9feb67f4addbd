use std::sync::atomic::{AtomicUsize as Tally, Ordering::Relaxed};

use ::loom::{cell::UnsafeCell, sync::Arc, thread};

use super::*;

/// One waiter takes its steps, one setter sets: the setter is told to wake exactly when the
/// waiter came as far as SLEEPING, and what it wrote before is visible after.
#[test]
fn set_against_every_step() {
    static WOKEN: Tally = Tally::new(0);
    static TURNED_BACK: Tally = Tally::new(0);
    ::loom::model(|| {
        let latch = Arc::new((CoreLatch::new(), UnsafeCell::new(0)));
        let setter = {
            let latch = latch.clone();
            thread::spawn(move || {
                // SAFETY: the waiter reads only after it has seen the latch set.
                latch.1.with_mut(|value| unsafe { *value = 1 });
                set(&latch.0)
            })
        };
        let slept = latch.0.get_sleepy() && latch.0.fall_asleep();
        let must_wake = setter.join().unwrap();
        assert_eq!(slept, must_wake);
        assert!(latch.0.probe());
        // SAFETY: the latch is set, so the setter has written.
        latch.1.with(|value| assert_eq!(unsafe { *value }, 1));
        (if slept { &WOKEN } else { &TURNED_BACK }).fetch_add(1, Relaxed);
    });
    assert!(
        WOKEN.load(Relaxed) > 0 && TURNED_BACK.load(Relaxed) > 0,
        "both ends were explored"
    );
}

/// The waiter turns back from SLEEPING while the setter sets: the latch ends up set.
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
