//! Several threads push into a queue, and one takes everything.

use std::thread;

use deque_core::Steal;
use protocol::time;

use super::{
    SharedQueue,
    steal::{ELEMENTS, SUM, wait_a_little},
};

/// Elements per second that go through the queue.
pub(super) fn measure<Q: SharedQueue>(producers: usize) -> f64 {
    let queue = Q::new();
    let time = time(|| {
        thread::scope(|scope| {
            for producer in 0..producers {
                let elements = (producer..ELEMENTS).step_by(producers);
                scope.spawn(|| elements.for_each(|element| queue.push(element)));
            }
            assert_eq!(take_everything(&queue), SUM);
        });
    });
    ELEMENTS as f64 / time.as_secs_f64()
}

/// The sum of all elements.
fn take_everything<Q: SharedQueue>(queue: &Q) -> u64 {
    let mut sum = 0;
    let mut failures = 0;
    let mut left = ELEMENTS;
    while left > 0 {
        if let Steal::Success(element) = queue.steal() {
            sum += element as u64;
            left -= 1;
            failures = 0;
        } else {
            failures += 1;
            wait_a_little(failures);
        }
    }
    sum
}
