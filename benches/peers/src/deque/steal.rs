//! An owner pushes as fast as it can, and thieves take everything.

use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use deque_core::Steal;
use protocol::time;

use super::{Queue, queue::CAPACITY};

/// So many that it does not matter how long threads take to start.
pub(super) const ELEMENTS: usize = 1_000_000;
pub(super) const SUM: u64 = ELEMENTS as u64 * (ELEMENTS as u64 - 1) / 2;
/// After so many the owner looks whether the thieves keep up.
const BATCH: usize = 250;

/// Elements per second that go through the thieves' hands.
pub(super) fn measure<Q: Queue>(
    thieves: usize,
    steal: impl Fn(&Q::Thief, &Q) -> Steal<usize> + Copy + Send,
) -> f64 {
    let queue = Q::new();
    let all_pushed = AtomicBool::new(false);
    let sum = AtomicU64::new(0);
    let time = time(|| {
        thread::scope(|scope| {
            for _ in 0..thieves {
                let victim = queue.thief();
                let (all_pushed, sum) = (&all_pushed, &sum);
                scope.spawn(move || {
                    let own = Q::new();
                    let stolen = take_everything(&own, || steal(&victim, &own), all_pushed);
                    sum.fetch_add(stolen, Ordering::Relaxed);
                });
            }
            push_everything(&queue);
            // Ordering: Release pairs with the thieves' Acquire.
            all_pushed.store(true, Ordering::Release);
        });
    });
    assert_eq!(sum.into_inner(), SUM);
    ELEMENTS as f64 / time.as_secs_f64()
}

fn push_everything<Q: Queue>(queue: &Q) {
    for first in (0..ELEMENTS).step_by(BATCH) {
        while queue.len() + BATCH > CAPACITY {
            thread::yield_now();
        }
        for element in first..first + BATCH {
            queue.push(element);
        }
    }
}

/// The sum of what one thief gets.
fn take_everything<Q: Queue>(
    own: &Q,
    steal: impl Fn() -> Steal<usize>,
    all_pushed: &AtomicBool,
) -> u64 {
    let mut sum = 0;
    let mut failures = 0;
    loop {
        // Ordering: Acquire, before the attempt: if it then finds nothing, that is the end.
        let is_last = all_pushed.load(Ordering::Acquire);
        match steal() {
            Steal::Success(element) => {
                sum += element as u64;
                while let Some(element) = own.pop() {
                    sum += element as u64;
                }
                failures = 0;
            }
            Steal::Empty if is_last => return sum,
            Steal::Empty | Steal::Retry => {
                failures += 1;
                wait_a_little(failures);
            }
        }
    }
}

/// After so many failures in a row: the other thread may need this processor.
pub(super) fn wait_a_little(failures: u32) {
    const PATIENCE: u32 = 32;
    if failures < PATIENCE {
        spin_loop();
    } else {
        thread::yield_now();
    }
}
