//! Readers while the owner writes.

use std::{sync::Arc, time::Duration};

use ::loom::{model, thread};

use super::super::{
    counter::SplitCounter,
    stopwatch::{Stopwatch, WorkerState},
};

/// The only writes in which a half can be read that does not belong to the other one.
#[test]
fn a_split_counter_carries_in_one_step() {
    model(|| {
        let carry = 1_u64 << 32;
        let counter = Arc::new(SplitCounter::new());
        counter.set(carry - 1);
        let owner = counter.clone();
        let thread = thread::spawn(move || {
            owner.add(2);
            owner.add(carry - 1);
        });
        let values = [counter.get(), counter.get()];
        thread.join().unwrap();
        let seen = [carry - 1, carry, carry + 1, 2 * carry];
        assert!(
            values.iter().all(|value| seen.contains(value)),
            "{values:#x?}"
        );
        assert!(values.is_sorted(), "{values:#x?}");
        assert_eq!(counter.get(), 2 * carry);
    });
}

/// A state and its times belong together.
#[test]
fn a_stopwatch_is_read_between_two_switches() {
    model(|| {
        let stopwatch = Arc::new(Stopwatch::new());
        stopwatch.switch(WorkerState::Active, || Some(10));
        let owner = stopwatch.clone();
        let thread = thread::spawn(move || owner.switch(WorkerState::Idle, || Some(11)));
        if let Some((state, times)) = stopwatch.read_consistent(|| Some(13)) {
            let times = times.unwrap();
            let [active, idle] = match state {
                WorkerState::Active => [3, 0],
                _ => [1, 2],
            };
            assert_eq!(times.active, Duration::from_nanos(active));
            assert_eq!(times.idle, Duration::from_nanos(idle));
        }
        thread.join().unwrap();
    });
}
