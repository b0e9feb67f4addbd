use ::loom::{cell::UnsafeCell, model, sync::Arc, thread};
use std::boxed::Box;

use super::*;
use crate::testing::registry;

/// Checks that what the setter wrote is visible to the waiter, which may free the latch at once.
#[test]
fn a_blocking_latch_hands_over() {
    model(|| {
        let value = Arc::new(UnsafeCell::new(0));
        let latch = Box::new(BlockingLatch::<Test>::new());
        let pointer = Sent(&raw const *latch);
        let setter = {
            let value = value.clone();
            thread::spawn(move || {
                // SAFETY: the waiter reads only after the latch is set.
                value.with_mut(|value| unsafe { *value = 1 });
                // SAFETY: 1. it lives until it is set.
                unsafe { pointer.set() };
            })
        };
        latch.wait();
        drop(latch);
        // SAFETY: the latch was set, so the setter has written.
        value.with(|value| assert_eq!(unsafe { *value }, 1));
        setter.join().unwrap();
    });
}

/// Repeats that for two setters, either of which may be the last.
#[test]
fn a_count_latch_gathers_what_all_wrote() {
    model(|| {
        let registry = registry(1);
        let values: [_; 2] = std::array::from_fn(|_| Arc::new(UnsafeCell::new(0)));
        let latch = Box::new(CountLatch::<Test>::new(None, &registry));
        for value in &values {
            latch.increment(1);
            let (value, pointer) = (value.clone(), Sent(&raw const *latch));
            thread::spawn(move || {
                // SAFETY: the waiter reads only after the latch is set.
                value.with_mut(|value| unsafe { *value = 1 });
                // SAFETY: 1. it counts us, and lives until it is set.
                unsafe { pointer.set() };
            });
        }
        // SAFETY: 1. it lives.
        unsafe { Latch::set(&raw const *latch) };
        latch.wait(None);
        drop(latch);
        for value in &values {
            // SAFETY: the latch was set, so both have written.
            value.with(|value| assert_eq!(unsafe { *value }, 1));
        }
    });
}
