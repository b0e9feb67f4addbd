//! Steals of several elements at once.

use std::{
    sync::atomic::{
        AtomicBool,
        Ordering::{Relaxed, SeqCst},
    },
    thread,
    vec::Vec,
};

use super::super::LAP;
use crate::{
    Deque, Fixed, Growable, Injector, Order, Steal, Worker,
    testing::{MANY, Taken, Tally, with_thieves},
};

fn growable(order: Order) -> Deque<usize, Growable<usize>> {
    Deque::growable(order)
}

fn all<H: crate::Handle<Element = usize>>(worker: &Worker<H>) -> Vec<usize> {
    std::iter::from_fn(|| worker.pop()).collect()
}

#[test]
fn a_batch_is_half_and_in_order() {
    const COUNT: usize = if cfg!(miri) { 40 } else { 500 };
    for order in [Order::Lifo, Order::Fifo] {
        let queue = Injector::new().starting_at(usize::MAX - 200);
        let own = growable(order);
        let own = own.worker().unwrap();
        assert_eq!(queue.steal_batch(&own), Steal::Empty);
        assert_eq!(queue.steal_batch_and_pop(&own), Steal::Empty);
        let mut next = 0;
        (0..COUNT).for_each(|element| queue.push(element));
        while next < COUNT {
            let before = queue.len();
            assert_eq!(before, COUNT - next);
            let Steal::Success(count) = queue.steal_batch(&own) else {
                panic!("no other thread steals");
            };
            assert!((1..=before.div_ceil(2).min(32)).contains(&count));
            assert!(all(&own).into_iter().eq(next..next + count));
            next += count;
            let Steal::Success(first) = queue.steal_batch_and_pop(&own) else {
                assert_eq!(next, COUNT);
                break;
            };
            assert_eq!(first, next);
            let others = all(&own);
            assert!(others.len() < 32);
            assert!(others.iter().copied().eq(next + 1..next + 1 + others.len()));
            next += 1 + others.len();
        }
        assert!(queue.is_empty());
    }
}

#[test]
fn a_batch_is_limited_by_the_caller_and_by_room() {
    let queue = Injector::new();
    (0..100).for_each(|element| queue.push(element));
    let own = growable(Order::Fifo);
    let own = own.worker().unwrap();
    assert_eq!(queue.steal_batch_with_limit(&own, 1), Steal::Success(1));
    assert_eq!(
        queue.steal_batch_with_limit_and_pop(&own, 1),
        Steal::Success(1)
    );
    let small = Deque::<usize, Fixed<usize, 2>>::fixed(Order::Fifo);
    let small = small.worker().unwrap();
    let first = queue.steal().success().unwrap();
    assert_eq!(first, 2);
    while small.len() < 2 {
        assert!(queue.steal_batch(&small).is_success());
    }
    assert_eq!(queue.steal_batch(&small), Steal::Empty);
    assert_eq!(queue.steal_batch_and_pop(&small), Steal::Success(5));
    assert_eq!((all(&small), queue.len()), (Vec::from([3, 4]), 94));
}

#[test]
#[should_panic = "at least one element"]
fn a_batch_of_none_is_refused() {
    let own = growable(Order::Fifo);
    let _ = Injector::new().steal_batch_with_limit(&own.worker().unwrap(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "slow; a model has it in small")]
fn stampede_of_batches() {
    let queue = Injector::new().starting_at(usize::MAX - MANY);
    let taken = Taken::new(2 * MANY);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for order in [Order::Lifo, Order::Fifo] {
            let (queue, taken, is_over) = (&queue, &taken, &is_over);
            scope.spawn(move || {
                let own = growable(order);
                let own = own.worker().unwrap();
                loop {
                    let finished = is_over.load(SeqCst);
                    let stolen = queue.steal_batch_and_pop(&own);
                    if let Steal::Success(first) = stolen {
                        taken.note(first);
                    }
                    let again = queue.steal_batch_with_limit(&own, 7);
                    std::iter::from_fn(|| own.pop()).for_each(|element| taken.note(element));
                    if finished && stolen.is_empty() && again.is_empty() {
                        break;
                    }
                    if !stolen.is_success() && !again.is_success() {
                        thread::yield_now();
                    }
                }
            });
        }
        with_thieves(
            1,
            || queue.steal(),
            |element| taken.note(element),
            || {
                thread::scope(|pushers| {
                    pushers.spawn(|| (0..MANY).for_each(|element| queue.push(element)));
                    (MANY..2 * MANY).for_each(|element| queue.push(element));
                });
            },
        );
        is_over.store(true, SeqCst);
    });
    taken.assert_all();
}

#[test]
fn destructors() {
    let tally = Tally::default();
    let queue = Injector::new();
    const COUNT: usize = if cfg!(miri) { 30 } else { 300 };
    (0..COUNT).for_each(|_| queue.push(tally.element()));
    let own = Deque::growable(Order::Lifo);
    let worker = own.worker().unwrap();
    for _ in 0..4 {
        assert!(queue.steal_batch(&worker).is_success());
        drop(queue.steal_batch_and_pop(&worker));
    }
    assert_eq!(tally.dropped(), 4);
    drop(queue);
    drop(worker);
    drop(own);
    assert_eq!(tally.dropped(), COUNT);
}

/// If the known tail stays behind for half the range of an index, it looks like a tail ahead of the
/// head. Then an empty queue seems to hold elements, and a consumer waits for one of them. With 32
/// bits that takes minutes of batches.
#[test]
fn batches_leave_the_tail_that_consumers_know_one_block_behind_at_most() {
    let queue = Injector::new().starting_at(usize::MAX - 200);
    let own = growable(Order::Fifo);
    let own = own.worker().unwrap();
    for round in 0..20 {
        (0..LAP).for_each(|element| queue.push(element));
        let mut stolen = 0;
        while stolen < LAP {
            stolen += match round % 2 {
                0 => queue.steal_batch(&own).success().unwrap_or(0),
                _ => usize::from(queue.steal_batch_and_pop(&own).is_success()) + own.len(),
            };
            all(&own);
        }
        // Ordering: Relaxed; there is one thread.
        let head = queue.head.end.index.load(Relaxed);
        let known = queue.head.known_tail.load(Relaxed);
        assert!(head.wrapping_sub(known) <= LAP, "round {round}");
        assert_eq!(queue.steal(), Steal::Empty);
    }
}
