//! Rings of fixed capacity that a batch has filled: what comes next finds no room that there is
//! not.

use std::vec::Vec;

use super::*;
use crate::{Injector, Steal, testing::Ledger};

const ORDERS: [Order; 2] = [Order::Lifo, Order::Fifo];
const STARTS: &[usize] = if cfg!(miri) {
    &[usize::MAX - 3]
} else {
    &[0, usize::MAX - 3, usize::MAX / 4 - 3]
};
/// Under Miri, blocks of the injector have three elements, and a batch has no more.
const ROOMS: &[usize] = if cfg!(miri) { &[1, 2] } else { &[1, 2, 6, 8] };
/// Enough for a batch that is longer than a ring.
const MANY: usize = if cfg!(miri) { 6 } else { 80 };

type Eight<T> = Deque<T, Fixed<T, 8>>;

/// Where a batch comes from.
enum Source<T: Element> {
    Injector(Injector<T>),
    Deque(Deque<T, Growable<T>>),
}

impl<T: Element> Source<T> {
    /// Returns a source of one of the three kinds, with many elements.
    fn new(kind: usize, element: impl Fn() -> T) -> Self {
        let elements = (0..MANY).map(|_| element());
        if kind == 0 {
            let injector = Injector::new();
            elements.for_each(|element| injector.push(element));
            return Self::Injector(injector);
        }
        let deque = Deque::growable(ORDERS[kind - 1]);
        let worker = deque.worker().unwrap();
        elements.for_each(|element| worker.push(element));
        drop(worker);
        Self::Deque(deque)
    }

    /// Steals as much as there is room for, and one more if `pops`. Returns whether there was
    /// anything.
    fn steal_batch(&self, into: &Worker<&Eight<T>>, pops: bool) -> bool {
        match (self, pops) {
            (Self::Injector(injector), false) => injector.steal_batch(into).is_success(),
            (Self::Injector(injector), true) => injector.steal_batch_and_pop(into).is_success(),
            (Self::Deque(deque), false) => deque.stealer().steal_batch(into).is_success(),
            (Self::Deque(deque), true) => deque.stealer().steal_batch_and_pop(into).is_success(),
        }
    }
}

/// A ring of eight elements, `room` of which were stolen without its owner's knowledge, and a batch
/// that is stolen into it.
#[derive(Debug, Clone, Copy)]
struct Case {
    order: Order,
    start: usize,
    room: usize,
    /// Which source.
    source: usize,
    pops: bool,
    /// Whether the batch is the first thing that an owner does, which has not looked for room
    /// then.
    is_first: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let starts = ORDERS
            .into_iter()
            .flat_map(|order| STARTS.iter().map(move |&start| (order, start)));
        let rooms =
            starts.flat_map(|(order, start)| ROOMS.iter().map(move |&room| (order, start, room)));
        let all = rooms.flat_map(|(order, start, room)| {
            (0..12).map(move |kind| Self {
                order,
                start,
                room,
                source: kind % 3,
                pops: kind / 3 % 2 == 1,
                is_first: kind / 6 == 1,
            })
        });
        // Miri is slow. Eleven has no divisor in common with the number of each kind of case.
        all.step_by(if cfg!(miri) { 11 } else { 1 })
    }

    /// Steals the batch, and calls `check` with the owner. The ring is full.
    fn run<T: Element>(self, element: impl Fn() -> T, check: impl FnOnce(&Worker<&Eight<T>>)) {
        let source = Source::new(self.source, &element);
        let deque = Eight::fixed(self.order).starting_at(self.start);
        let mut worker = deque.worker().unwrap();
        (0..8).for_each(|_| assert!(worker.try_push(element()).is_ok()));
        (0..self.room).for_each(|_| assert!(deque.stealer().steal().is_success()));
        if self.is_first {
            drop(worker);
            worker = deque.worker().unwrap();
        }
        assert!(source.steal_batch(&worker, self.pops));
        assert_eq!(worker.len(), 8);
        check(&worker);
    }
}

#[test]
fn a_push_after_a_batch_that_has_filled_the_ring_is_refused() {
    for case in Case::all() {
        let ledger = Ledger::new();
        case.run(
            || ledger.element(),
            |worker| {
                for _ in 0..2 {
                    assert!(worker.try_push(ledger.element()).is_err(), "{case:?}");
                }
                let mut all: Vec<_> = core::iter::from_fn(|| worker.pop()).collect();
                all.sort_unstable_by_key(|element| element.0);
                all.dedup();
                assert_eq!(all.len(), 8, "{case:?}");
            },
        );
        ledger.assert_each_dropped_once();
    }
}

#[test]
fn a_deque_that_a_batch_has_filled_drops_each_element_once() {
    for case in Case::all() {
        let ledger = Ledger::new();
        case.run(
            || ledger.element(),
            |worker| drop(worker.try_push(ledger.element())),
        );
        ledger.assert_each_dropped_once();
    }
}

#[test]
fn a_batch_into_a_ring_that_a_batch_has_filled_finds_no_room() {
    for case in Case::all() {
        case.run(
            || 7,
            |worker| {
                for source in [0, 1, 2].map(|kind| Source::new(kind, || 9)) {
                    assert!(!source.steal_batch(worker, false), "{case:?}");
                    assert!(source.steal_batch(worker, true), "{case:?}");
                }
                assert_eq!(worker.len(), 8);
                assert!(worker.try_push(9).is_err(), "{case:?}");
            },
        );
    }
}

#[test]
fn fast_push_reaches_its_limit_after_a_batch_that_has_filled_the_ring() {
    for case in Case::all() {
        case.run(
            || 7,
            |worker| {
                assert!(worker.enable_fast_push(|| true));
                // SAFETY: 1. the position is from just now.
                let push = || unsafe { worker.fast_push(worker.next_position(), 8) };
                assert_eq!(push(), FastPush::LimitReached, "{case:?}");
                assert_eq!(worker.pop(), Some(7));
                let is_pushed = push() != FastPush::LimitReached || worker.try_push(8).is_ok();
                assert!(is_pushed, "{case:?}");
                assert_eq!(push(), FastPush::LimitReached, "{case:?}");
                assert_eq!(worker.try_push(8), Err(Full(8)), "{case:?}");
            },
        );
    }
}

/// A batch does not know how many more elements its source would have had.
#[test]
fn a_steal_after_a_batch_that_has_filled_the_ring_makes_room_for_one() {
    for case in Case::all() {
        case.run(
            || 7,
            |worker| {
                for _ in 0..20 {
                    assert_eq!(worker.stealer().steal(), Steal::Success(7));
                    assert!(worker.try_push(7).is_ok(), "{case:?}");
                    assert_eq!(worker.try_push(8), Err(Full(8)), "{case:?}");
                }
            },
        );
    }
}
