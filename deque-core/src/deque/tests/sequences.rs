//! What one thread sees, whatever the order of its operations: as in a queue of the standard library.

use std::vec::Vec;

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy)]
enum Operation {
    Push,
    Pop,
    Steal,
    StealBatch,
}

fn agrees_with_model<S: Storage<usize>>(deque: Deque<usize, S>, operations: &[Operation]) {
    let mut model = std::collections::VecDeque::new();
    let other = Deque::growable(Order::Fifo);
    let (worker, other) = (deque.worker().unwrap(), other.worker().unwrap());
    for (number, operation) in operations.iter().enumerate() {
        match operation {
            Operation::Push => {
                if worker.try_push(number).is_ok() {
                    model.push_back(number);
                } else {
                    assert_eq!(model.len(), 8);
                }
            }
            Operation::Pop => {
                let expected = match deque.order() {
                    Order::Lifo => model.pop_back(),
                    Order::Fifo => model.pop_front(),
                };
                assert_eq!(worker.pop(), expected);
            }
            Operation::Steal => {
                assert_eq!(deque.stealer().steal().success(), model.pop_front());
            }
            Operation::StealBatch => {
                let count = deque.stealer().steal_batch(&other).success().unwrap_or(0);
                assert_eq!(count, model.len().div_ceil(2).min(32));
                let mut batch: Vec<_> = model.drain(..count).collect();
                if deque.order() == Order::Lifo {
                    batch.reverse();
                }
                assert!(batch.into_iter().eq(core::iter::from_fn(|| other.pop())));
            }
        }
        assert_eq!(deque.len(), model.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_sequence_agrees_with_a_vec_deque(
        operations in prop::collection::vec(prop::sample::select(&[
            Operation::Push, Operation::Push, Operation::Push,
            Operation::Pop, Operation::Steal, Operation::StealBatch,
        ][..]), 0..if cfg!(miri) { 80 } else { 200 }),
        start in prop::sample::select(&[0, 5, usize::MAX - 3, usize::MAX / 2][..]),
        lifo: bool,
    ) {
        let order = if lifo { Order::Lifo } else { Order::Fifo };
        agrees_with_model(Deque::growable(order).starting_at(start), &operations);
        agrees_with_model(
            Deque::<usize, Fixed<usize, 8>>::fixed(order).starting_at(start),
            &operations,
        );
    }
}
