//! The lock in every interleaving of two cores.

use ::loom::{
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::*;

/// Interrupts whose masks are numbers: each call returns a different one.
struct Core;

::loom::lazy_static! {
    static ref MASKS: AtomicUsize = AtomicUsize::new(0);
}

::loom::thread_local! {
    static LAST: core::cell::Cell<usize> = core::cell::Cell::new(0);
}

impl Interrupts for Core {
    type State = usize;

    fn mask() -> usize {
        let mask = MASKS.fetch_add(1, Ordering::Relaxed);
        LAST.with(|last| last.set(mask));
        mask
    }

    fn restore(mask: usize) {
        LAST.with(|last| assert_eq!(mask, last.get(), "the mask of another core"));
    }

    fn halt() {
        unreachable!("a lock does not halt");
    }
}

#[test]
fn one_core_at_a_time() {
    struct Shared {
        lock: InterruptLock<Core>,
        count: UnsafeCell<usize>,
    }
    // SAFETY: the lock guards the count, which is what the model checks.
    unsafe impl Sync for Shared {}
    // SAFETY: as above.
    unsafe impl Send for Shared {}

    ::loom::model(|| {
        let shared = Arc::new(Shared {
            lock: InterruptLock::new(),
            count: UnsafeCell::new(0),
        });
        // This makes a limited number of attempts, since loom sees no end of a loop that waits.
        let try_to_increment = |shared: &Shared| {
            let attempts = (0..2).filter(|_| {
                let has_lock = shared.lock.try_acquire();
                if has_lock {
                    // SAFETY: the lock is held.
                    shared.count.with_mut(|count| unsafe { *count += 1 });
                    // SAFETY: 1. Acquired above.
                    unsafe { shared.lock.release() };
                }
                has_lock
            });
            attempts.count()
        };
        let other = thread::spawn({
            let shared = Arc::clone(&shared);
            move || try_to_increment(&shared)
        });
        let increments = try_to_increment(&shared) + other.join().unwrap();
        // SAFETY: the other thread has ended.
        let count = shared.count.with(|count| unsafe { *count });
        assert_eq!(count, increments);
    });
}
