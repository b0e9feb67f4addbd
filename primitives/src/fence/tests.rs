use super::*;
use crate::{AtomicUsize, Ordering::Relaxed};

type Fence = fn();

/// Executes one side of Dekker's algorithm: writes a word, executes a fence, and reads another one.
fn write_and_read(write: &AtomicUsize, fence: Fence, read: &AtomicUsize) -> usize {
    write.store(1, Relaxed);
    fence();
    read.load(Relaxed)
}

fn heavy() {
    assert!(FullFences::heavy());
}

/// Every pair of which the trait requires an order.
const PAIRS: [(Fence, Fence); 4] = [
    (FullFences::light, heavy),
    (FullFences::light, full_fence),
    (heavy, full_fence),
    (heavy, heavy),
];

#[cfg(loom)]
#[test]
fn at_least_one_side_sees_the_other() {
    use ::loom::{model, sync::Arc, thread};
    for (left, right) in PAIRS {
        model(move || {
            let words = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
            let other = thread::spawn({
                let words = words.clone();
                move || write_and_read(&words.0, left, &words.1)
            });
            let seen = write_and_read(&words.1, right, &words.0);
            assert!(seen + other.join().unwrap() > 0);
        });
    }
}

#[cfg(not(loom))]
#[test]
fn at_least_one_side_sees_the_other() {
    use std::{sync::Barrier, thread};
    const ROUNDS: usize = if cfg!(miri) { 10 } else { 2_000 };
    for (left, right) in PAIRS {
        let words = (AtomicUsize::new(0), AtomicUsize::new(0));
        let meeting = Barrier::new(2);
        for _ in 0..ROUNDS {
            let seen = thread::scope(|scope| {
                let other = scope.spawn(|| {
                    meeting.wait();
                    write_and_read(&words.0, left, &words.1)
                });
                meeting.wait();
                write_and_read(&words.1, right, &words.0) + other.join().unwrap()
            });
            assert!(seen > 0);
            words.0.store(0, Relaxed);
            words.1.store(0, Relaxed);
        }
    }
}
