//! What one thread sees.

use std::{boxed::Box, format, sync::Arc, vec::Vec};

use super::*;
use crate::{Steal, testing::Tally};

const NEAR_THE_WRAP: usize = usize::MAX - 2;

#[test]
fn smoke() {
    for start in [0, NEAR_THE_WRAP] {
        let deque = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Lifo).starting_at(start);
        let worker = deque.worker().unwrap();
        assert_eq!(worker.pop(), None);
        assert_eq!(deque.stealer().steal(), Steal::Empty);
        for element in 0..4 {
            worker.try_push(element).unwrap();
        }
        assert_eq!(worker.try_push(4), Err(Full(4)));
        assert_eq!((worker.len(), worker.is_empty()), (4, false));
        assert_eq!(deque.stealer().steal(), Steal::Success(0));
        assert_eq!(worker.pop(), Some(3));
        assert_eq!(worker.pop(), Some(2));
        assert_eq!(worker.pop(), Some(1));
        assert_eq!(worker.pop(), None);
        assert!(worker.is_empty());
    }
}

#[test]
fn fifo_owner_takes_the_oldest() {
    let deque = Deque::growable(Order::Fifo).starting_at(NEAR_THE_WRAP);
    let worker = deque.worker().unwrap();
    for element in 0..10_usize {
        worker.push(element);
    }
    assert_eq!(worker.pop(), Some(0));
    assert_eq!(deque.stealer().steal(), Steal::Success(1));
    assert_eq!(worker.pop(), Some(2));
}

/// Covers crossbeam#1149: near the wrap-around a queue must not look empty.
#[test]
fn growth_across_the_wrap_around_keeps_order() {
    let deque = Deque::growable(Order::Lifo).starting_at(NEAR_THE_WRAP);
    let worker = deque.worker().unwrap();
    // The first ring has two cells under Miri.
    const COUNT: usize = if cfg!(miri) { 40 } else { 1000 };
    for element in 0..COUNT {
        worker.push(element);
        assert_eq!(worker.len(), element + 1);
    }
    for element in 0..COUNT / 2 {
        assert_eq!(deque.stealer().steal(), Steal::Success(element));
    }
    for element in (COUNT / 2..COUNT).rev() {
        assert_eq!(worker.pop(), Some(element));
    }
    assert!(deque.is_empty());
}

#[test]
fn there_is_one_owner_at_a_time() {
    let deque = Arc::new(Deque::growable(Order::Lifo));
    let worker = Worker::new(deque.clone()).unwrap();
    assert_eq!(deque.worker().unwrap_err(), AlreadyOwned);
    worker.push(1_usize);
    drop(worker);
    assert_eq!(deque.worker().unwrap().pop(), Some(1));
}

/// Covers a bug of st3 as used in Forte: half of a queue of one must be one.
#[test]
fn a_batch_of_one_can_be_stolen() {
    for order in [Order::Lifo, Order::Fifo] {
        let (from, to) = (Deque::growable(order), Deque::growable(order));
        let (from, to) = (from.worker().unwrap(), to.worker().unwrap());
        from.push(7_usize);
        assert_eq!(from.stealer().steal_batch(&to), Steal::Success(1));
        assert_eq!(from.stealer().steal_batch(&to), Steal::Empty);
        assert_eq!(to.pop(), Some(7));
    }
}

/// Checks a promise of crossbeam-deque: the destination's owner takes a batch in the order in which
/// its first owner would have taken it.
#[test]
fn a_batch_is_half_and_keeps_the_order_of_its_deque() {
    const ORDERS: [Order; 2] = [Order::Lifo, Order::Fifo];
    for (order, into) in ORDERS
        .into_iter()
        .flat_map(|from| ORDERS.map(|to| (from, to)))
    {
        let (from, to) = (Deque::growable(order), Deque::growable(into));
        let (from, to) = (from.worker().unwrap(), to.worker().unwrap());
        let all = || core::iter::from_fn(|| to.pop()).collect::<Vec<_>>();
        (0..9_usize).for_each(|element| from.push(element));
        assert_eq!(from.stealer().steal_batch(&to), Steal::Success(5));
        assert_eq!(
            all(),
            match order {
                Order::Lifo => [4, 3, 2, 1, 0],
                Order::Fifo => [0, 1, 2, 3, 4],
            }
        );
        let (first, other) = match order {
            Order::Lifo => (6, 5),
            Order::Fifo => (5, 6),
        };
        let popped = from.stealer().steal_batch_and_pop(&to);
        assert_eq!((popped, all()), (Steal::Success(first), Vec::from([other])));
        assert_eq!(from.len(), 2);
    }
}

/// Counts the element that is returned as one of the 32.
#[test]
#[cfg_attr(miri, ignore = "many elements")]
fn a_batch_has_at_most_32_elements() {
    for order in [Order::Lifo, Order::Fifo] {
        let (from, to) = (Deque::growable(order), Deque::growable(order));
        let (from, to) = (from.worker().unwrap(), to.worker().unwrap());
        (0..100_usize).for_each(|element| from.push(element));
        assert_eq!(from.stealer().steal_batch(&to), Steal::Success(32));
        assert_eq!((from.len(), to.len()), (68, 32));
        let popped = match order {
            Order::Lifo => 63,
            Order::Fifo => 32,
        };
        assert_eq!(
            from.stealer().steal_batch_and_pop(&to),
            Steal::Success(popped)
        );
        assert_eq!((from.len(), to.len()), (36, 63));
        let mut others: Vec<_> = core::iter::from_fn(|| to.pop()).collect();
        others.sort_unstable();
        assert!((0..64).filter(|&element| element != popped).eq(others));
    }
}

#[test]
#[cfg_attr(miri, ignore = "many elements")]
fn a_batch_has_a_limit() {
    const ALL: usize = if cfg!(miri) { 100 } else { 1000 };
    const LIMIT: usize = ALL / 10;
    for order in [Order::Lifo, Order::Fifo] {
        let (from, to) = (Deque::growable(order), Deque::growable(order));
        let (from, to) = (from.worker().unwrap(), to.worker().unwrap());
        (0..ALL).for_each(|element| from.push(element));
        let stealer = from.stealer();
        assert_eq!(stealer.steal_batch_with_limit(&to, 1), Steal::Success(1));
        assert_eq!(
            stealer.steal_batch_with_limit(&to, LIMIT),
            Steal::Success(LIMIT)
        );
        let rest = ALL - 1 - LIMIT;
        assert_eq!((from.len(), to.len()), (rest, 1 + LIMIT));
        assert!(stealer.steal_batch_with_limit_and_pop(&to, 1).is_success());
        assert_eq!((from.len(), to.len()), (rest - 1, 1 + LIMIT));
        assert!(
            stealer
                .steal_batch_with_limit_and_pop(&to, 10_000)
                .is_success()
        );
        let taken = (rest - 1) / 2;
        assert_eq!((from.len(), to.len()), (rest - 1 - taken, LIMIT + taken));
    }
}

#[test]
fn a_full_destination_limits_the_batch() {
    for order in [Order::Lifo, Order::Fifo] {
        let from = Deque::growable(order);
        let to = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Fifo);
        let (from, to) = (from.worker().unwrap(), to.worker().unwrap());
        (0..20_usize).for_each(|element| from.push(element));
        assert_eq!(from.stealer().steal_batch(&to), Steal::Success(4));
        assert_eq!(from.stealer().steal_batch(&to), Steal::Empty);
        // No room, so a batch of one.
        assert_eq!(from.stealer().steal_batch_and_pop(&to), Steal::Success(4));
        assert_eq!((from.len(), to.len()), (15, 4));
    }
}

#[test]
fn a_batch_fills_the_last_slot_of_its_destination() {
    for order in [Order::Lifo, Order::Fifo] {
        let from = Deque::growable(order);
        let to = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Fifo);
        let (from, to) = (from.worker().unwrap(), to.worker().unwrap());
        to.try_push(100).unwrap();
        (0..20_usize).for_each(|element| from.push(element));
        assert_eq!(from.stealer().steal_batch(&to), Steal::Success(3));
        let oldest = match order {
            Order::Lifo => 2,
            Order::Fifo => 0,
        };
        assert_eq!((to.pop(), to.pop()), (Some(100), Some(oldest)));
        assert!(from.stealer().steal_batch_and_pop(&to).is_success());
        assert_eq!((from.len(), to.len()), (14, 4));
    }
}

/// Allows a scheduler to search its own deque too.
#[test]
fn a_batch_may_be_stolen_from_the_destination_itself() {
    for order in [Order::Lifo, Order::Fifo] {
        let own = Deque::growable(order);
        let own = own.worker().unwrap();
        (0..9_usize).for_each(|element| own.push(element));
        assert_eq!(own.stealer().steal_batch(&own), Steal::Success(5));
        let popped = own.stealer().steal_batch_and_pop(&own);
        assert!(popped.is_success());
        let mut all: Vec<_> = core::iter::from_fn(|| own.pop()).collect();
        all.sort_unstable();
        let left = (0..9).filter(|&element| Steal::Success(element) != popped);
        assert!(left.eq(all));
    }
}

#[test]
fn elements_survive_being_words() {
    fn check<T: Element + PartialEq + core::fmt::Debug + Clone>(element: T) {
        let copy = element.clone();
        // SAFETY: 1. and 2. the words were made here and are used once.
        assert_eq!(unsafe { T::from_words(copy.into_words()) }, element);
    }
    let number = 5;
    check(usize::MAX);
    check(-1_isize);
    check(-2_i8);
    check(-3_i32);
    check(u32::MAX);
    check(&number);
    check(&raw const number);
    check(core::ptr::NonNull::from(&number));
    check(Box::new(number));
    check(Arc::new(number));
    check((Box::new(number), -4_i16));
}

#[test]
fn destructors() {
    for order in [Order::Lifo, Order::Fifo] {
        let tally = Tally::default();
        let deque = Deque::growable(order).starting_at(NEAR_THE_WRAP);
        let worker = deque.worker().unwrap();
        (0..100).for_each(|_| worker.push(tally.element()));
        for _ in 0..30 {
            drop(worker.pop());
            drop(deque.stealer().steal());
        }
        assert_eq!(tally.dropped(), 60);
        drop(worker);
        drop(deque);
        assert_eq!(tally.dropped(), 100);
    }
}

/// Makes the second destructor panic. All other elements are dropped, and the memory is freed,
/// which Miri checks.
#[test]
fn a_destructor_that_panics_leaves_no_element_behind() {
    let tally = Tally::default();
    let deque = Deque::growable(Order::Lifo);
    let worker = deque.worker().unwrap();
    (0..5).for_each(|number| worker.push(tally.panicking_element(number == 1)));
    drop(worker);
    let drop = std::panic::AssertUnwindSafe(|| drop(deque));
    assert!(std::panic::catch_unwind(drop).is_err());
    assert_eq!(tally.dropped(), 5);
}

#[test]
fn debug_shows_the_length() {
    let deque = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Lifo);
    let worker = deque.worker().unwrap();
    worker.try_push(1).unwrap();
    assert_eq!(
        format!("{worker:?}"),
        "Worker { deque: Deque { len: 1, order: Lifo, fence: Fenced, .. } }"
    );
}
