//! Whether what an owner and its thieves see at the same time is explained by some order of their
//! calls.

use std::sync::Mutex;

use super::*;
use crate::testing::{
    delay_often,
    history::{Made, Queue, Random, Recorder, is_linearizable, record},
};

const HISTORIES: u32 = if cfg!(miri) { 2 } else { 2_000 };

fn own<S: Storage<usize>>(
    worker: &Worker<&Deque<usize, S>>,
    mut random: Random,
    recorder: &mut Recorder<'_, Made>,
) {
    delay_often();
    for element in 0..8 {
        recorder.record(|| match random.below(5) {
            0 | 1 => [Made::Pop(worker.pop())],
            2 => [Made::Steal(worker.pop_oldest())],
            _ => match worker.try_push(element) {
                Ok(_) => [Made::Push(element)],
                Err(_) => [Made::Refused],
            },
        });
    }
}

/// Steals single elements, and batches to a deque of the thief's own.
fn steal<S: Storage<usize>>(
    deque: &Deque<usize, S>,
    mut random: Random,
    recorder: &mut Recorder<'_, Made>,
) {
    delay_often();
    let own = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Fifo);
    let own = own.worker().unwrap();
    for _ in 0..4 {
        recorder.record(|| {
            let stolen = match random.below(3) {
                0 => deque.stealer().steal_batch_with_limit_and_pop(&own, 3),
                _ => deque.stealer().steal(),
            };
            Made::by_thief(stolen, &own)
        });
    }
}

/// Records histories of an owner and two thieves, and checks each.
///
/// Before that, the owner pops an element that it has pushed, so many times.
pub(super) fn check<S: Storage<usize>>(
    make: impl Fn() -> Deque<usize, S>,
    capacity: usize,
    warm_up: usize,
) {
    for seed in 1..=HISTORIES {
        let deque = make().starting_at(usize::MAX - 3);
        let worker = deque.worker().unwrap();
        // The owner may have pops without a fence, if it has popped often.
        (1_000..1_002).for_each(|it| _ = worker.try_push(it));
        for element in 0..warm_up {
            worker.try_push(element).unwrap();
            worker.pop();
        }
        (0..seed % 3).for_each(|_| _ = worker.pop());
        let elements = match deque.order() {
            Order::Lifo => 1_000..1_002,
            Order::Fifo => 1_002 - worker.len()..1_002,
        };
        let queue = Queue {
            elements: elements.take(worker.len()).collect(),
            is_lifo: deque.order() == Order::Lifo,
            capacity,
        };
        let worker = Mutex::new(Some(worker));
        let random = |thread| Random(seed << 2 | thread);
        let calls = record(&[
            &|recorder| {
                let worker = worker.lock().unwrap().take().unwrap();
                own(&worker, random(1), recorder);
            },
            &|recorder| steal(&deque, random(2), recorder),
            &|recorder| steal(&deque, random(3), recorder),
        ]);
        assert!(is_linearizable(queue, &calls), "seed {seed}: {calls:#?}");
    }
}

#[test]
fn calls_of_a_growable_deque_have_an_order() {
    for order in [Order::Lifo, Order::Fifo] {
        check(|| Deque::growable(order), usize::MAX, 0);
    }
}

#[test]
fn calls_of_a_fixed_deque_have_an_order() {
    for order in [Order::Lifo, Order::Fifo] {
        check(|| Deque::<usize, Fixed<usize, 2>>::fixed(order), 2, 0);
    }
}
