//! Whether what producers and thieves see at the same time is explained by some order of their
//! calls.

use super::*;
use crate::{
    Deque, Fixed, Order,
    testing::{
        delay_often,
        history::{Made, Queue, Random, Recorder, is_linearizable, record},
    },
};

const HISTORIES: u32 = if cfg!(miri) { 2 } else { 2_000 };

fn produce(queue: &Injector<usize>, first: usize, recorder: &mut Recorder<'_, Made>) {
    delay_often();
    for element in first..first + 6 {
        recorder.record(|| {
            queue.push(element);
            [Made::Push(element)]
        });
    }
}

/// Steals single elements, and batches.
fn steal(queue: &Injector<usize>, mut random: Random, recorder: &mut Recorder<'_, Made>) {
    delay_often();
    let own = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Fifo);
    let own = own.worker().unwrap();
    for _ in 0..5 {
        recorder.record(|| {
            let stolen = match random.below(3) {
                0 => queue.steal_batch_with_limit_and_pop(&own, 3),
                _ => queue.steal(),
            };
            Made::by_thief(stolen, &own)
        });
    }
}

/// Where blocks end, and where positions wrap around.
#[test]
fn calls_have_an_order() {
    for seed in 1..=HISTORIES {
        let starts = [0, BLOCK - 3, usize::MAX - 3];
        let queue = Injector::new().starting_at(starts[seed as usize % starts.len()]);
        let elements = 1_000..1_000 + seed as usize % 3;
        elements.clone().for_each(|element| queue.push(element));
        let begin = Queue {
            elements: elements.collect(),
            is_lifo: false,
            capacity: usize::MAX,
        };
        let calls = record(&[
            &|recorder| produce(&queue, 0, recorder),
            &|recorder| produce(&queue, 100, recorder),
            &|recorder| steal(&queue, Random(seed << 1), recorder),
            &|recorder| steal(&queue, Random(seed << 1 | 1), recorder),
        ]);
        assert!(is_linearizable(begin, &calls), "seed {seed}: {calls:#?}");
    }
}
