//! The owner alone: pushes some, pops them.

use std::hint::black_box;

use protocol::{Unit, time};

use super::Queue;

const BATCH: usize = 64;
const BATCHES: usize = 100_000;

/// Nanoseconds for a push and a pop.
pub(super) fn measure<Q: Queue>() -> f64 {
    let queue = Q::new();
    let time = time(|| {
        for _ in 0..BATCHES {
            let mut sum = 0;
            for element in 0..BATCH {
                queue.push(black_box(element));
            }
            while let Some(element) = queue.pop() {
                sum += element;
            }
            assert_eq!(sum, BATCH * (BATCH - 1) / 2);
        }
    });
    Unit::Nanoseconds.of(time) / (BATCH * BATCHES) as f64
}
