//! Rings that shrink.

use std::{
    boxed::Box, rc::Rc, sync::atomic::AtomicUsize, sync::atomic::Ordering::SeqCst, vec::Vec,
};

use proptest::prelude::*;

use super::*;
use crate::testing::{MANY, Taken, delay_often, interrupted_everywhere, with_thieves};

/// The maximum number of elements, and of operations.
const MOST: usize = if cfg!(miri) { 12 } else { 100 };
const ORDERS: [Order; 2] = [Order::Lifo, Order::Fifo];

fn capacity<H: Handle>(worker: &Worker<H>) -> usize {
    worker.deque().shared.storage.buffer().slots.len()
}

/// Reproduces a bug: a thief that is interrupted between its looks at the two ends takes what has
/// passed through the deque meanwhile for its length, and made as much room.
#[test]
fn a_batch_makes_no_more_room_than_there_can_be_elements() {
    const PASSING: usize = if cfg!(miri) { 100 } else { 10_000 };

    for order in ORDERS {
        interrupted_everywhere(
            || {
                let worker = Rc::new(match order {
                    Order::Lifo => Worker::new_lifo(),
                    Order::Fifo => Worker::new_fifo(),
                });
                let stealer = worker.stealer();
                (0..4).for_each(|element| worker.push(element));
                (worker, stealer)
            },
            |(worker, stealer)| {
                let (worker, stealer) = (worker.clone(), stealer.clone());
                Box::new(move || {
                    for element in 0..PASSING {
                        worker.push(element);
                        while stealer.steal().is_retry() {}
                    }
                })
            },
            |(_, stealer)| {
                let thief = Worker::new_fifo();
                let stolen = stealer.steal_batch_with_limit(&thief, usize::MAX);
                assert!(!stolen.is_empty());
                assert!(capacity(&thief) <= 64, "{} cells", capacity(&thief));
            },
        );
    }
}

#[test]
#[cfg_attr(miri, ignore = "many elements; the test of any sequence has fewer")]
fn a_ring_shrinks_after_a_burst() {
    for order in ORDERS {
        let deque = Deque::growable(order).starting_at(usize::MAX - 500);
        let worker = deque.worker().unwrap();
        assert!(!worker.shrink_to(0), "there is no ring yet");
        (0..1000_usize).for_each(|element| worker.push(element));
        assert_eq!(capacity(&worker), 1024);
        assert!(!worker.shrink_to(0));
        let mut left: Vec<_> = std::iter::from_fn(|| (worker.len() > 200).then(|| worker.pop()))
            .flatten()
            .collect();
        assert!(!worker.shrink_to(600), "600 slots would not be fewer");
        assert!(worker.shrink_to(0));
        assert_eq!(capacity(&worker), 512, "200 are at least a quarter");
        assert!(!worker.shrink_to(0), "it would only grow again");
        left.extend(std::iter::from_fn(|| worker.pop()));
        if order == Order::Lifo {
            left.reverse();
        }
        assert_eq!(left, (0..1000).collect::<Vec<_>>());
        assert!(worker.shrink_to(100));
        assert_eq!(capacity(&worker), 128);
        // SAFETY: 1. there is no other thread.
        assert!(unsafe { worker.take_replaced() }.is_some());
        // SAFETY: 1. as above.
        assert!(unsafe { worker.take_replaced() }.is_none());
        (0..1000).for_each(|element| worker.push(element));
        assert_eq!(worker.len(), 1000);
    }
}

#[test]
fn a_ring_of_fixed_capacity_does_not_shrink() {
    let deque = Deque::<usize, Fixed<usize, 64>>::fixed(Order::Lifo);
    assert!(!deque.worker().unwrap().shrink_to(0));
}

/// Checks that fast push respects the smaller room.
#[test]
fn fast_push_reaches_its_limit_earlier_after_shrinking() {
    const MUCH: usize = if cfg!(miri) { 16 } else { 256 };
    let deque = Deque::growable(Order::Lifo);
    let worker = deque.worker().unwrap();
    (0..MUCH).for_each(|element| worker.push(element));
    while worker.pop().is_some() {}
    assert!(worker.enable_fast_push(|| true));
    assert!(worker.shrink_to(1));
    let room = capacity(&worker);
    assert!(room < MUCH);
    for element in 0..room {
        // SAFETY: 1. it is the next position.
        let pushed = unsafe { worker.fast_push(worker.next_position(), element) };
        assert_eq!(pushed, FastPush::Pushed);
    }
    // SAFETY: 1. as above.
    let pushed = unsafe { worker.fast_push(worker.next_position(), room) };
    assert_eq!(pushed, FastPush::LimitReached);
    worker.push(room);
    for element in (0..=room).rev() {
        assert_eq!(worker.pop(), Some(element));
    }
}

/// Makes bursts, after each of which the ring shrinks, while thieves read the previous ring.
pub(super) fn stampede(deque: Deque<usize, Growable<usize>>, pops: usize) {
    let worker = deque.worker().unwrap();
    let taken = Taken::new(MANY);
    let shrunk = AtomicUsize::new(0);
    with_thieves(
        2,
        || {
            delay_often();
            deque.stealer().steal()
        },
        |element| taken.note(element),
        || {
            let mut next = 0..MANY;
            for burst in [10, 150, 30, 700].into_iter().cycle() {
                let pushed = next
                    .by_ref()
                    .take(burst)
                    .map(|element| worker.push(element));
                let pushed = pushed.count();
                for element in (0..pushed * pops / 8).filter_map(|_| worker.pop()) {
                    taken.note(element);
                }
                if worker.shrink_to(1) {
                    shrunk.fetch_add(1, SeqCst);
                }
                if pushed == 0 {
                    break;
                }
            }
            std::iter::from_fn(|| worker.pop()).for_each(|element| taken.note(element));
        },
    );
    taken.assert_all();
    assert!(shrunk.load(SeqCst) > 0);
}

#[test]
fn stampede_while_shrinking() {
    for order in ORDERS {
        stampede(Deque::growable(order).starting_at(usize::MAX - MANY / 2), 7);
        stampede(Deque::growable(order), 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 2 } else { ProptestConfig::default().cases },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_with_shrinking_agrees_with_a_vec_deque(
        operations in prop::collection::vec((0..4_u8, 0..MOST), 0..MOST),
        start in prop::sample::select(&[0, usize::MAX - 30][..]),
        lifo: bool,
    ) {
        let order = if lifo { Order::Lifo } else { Order::Fifo };
        let deque = Deque::growable(order).starting_at(start);
        let worker = deque.worker().unwrap();
        let mut model = std::collections::VecDeque::new();
        for (operation, count) in operations {
            match operation {
                0 => (0..count).for_each(|element| {
                    worker.push(element);
                    model.push_back(element);
                }),
                1 => (0..count).for_each(|_| assert_eq!(worker.pop(), match order {
                    Order::Lifo => model.pop_back(),
                    Order::Fifo => model.pop_front(),
                })),
                2 => (0..count).for_each(|_| {
                    assert_eq!(deque.stealer().steal().success(), model.pop_front());
                }),
                _ => {
                    let before = capacity(&worker);
                    let shrunk = worker.shrink_to(count);
                    let after = capacity(&worker);
                    assert_eq!(shrunk, after < before);
                    assert!(!shrunk || after >= count && after >= 2 * model.len());
                    assert!(shrunk || model.len() > before / 4 || before <= 2 * count.max(64));
                }
            }
            assert_eq!(worker.len(), model.len());
        }
    }
}
