//! What several threads see.

use std::{sync::Barrier, thread};

use super::*;
use crate::{
    Steal,
    testing::{MANY, Taken, Tally, with_thieves},
};

const ORDERS: [Order; 2] = [Order::Lifo, Order::Fifo];

#[test]
fn spsc() {
    for order in ORDERS {
        let deque = Deque::growable(order).starting_at(usize::MAX - MANY / 2);
        let worker = deque.worker().unwrap();
        let next = std::sync::atomic::AtomicUsize::new(0);
        with_thieves(
            1,
            || deque.stealer().steal(),
            |element| {
                let expected = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                assert_eq!(element, expected, "thieves take the oldest");
            },
            || (0..MANY).for_each(|element| worker.push(element)),
        );
    }
}

/// Interrupts the thief between its two loads for as long as the owner likes.
#[test]
fn the_length_is_never_more_than_the_capacity() {
    for order in ORDERS {
        let deque = Deque::<usize, Fixed<usize, 4>>::fixed(order);
        let worker = deque.worker().unwrap();
        let done = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            let looks = scope.spawn(|| {
                let mut most = 0;
                while !done.load(std::sync::atomic::Ordering::SeqCst) {
                    most = most.max(deque.len()).max(deque.stealer().len());
                }
                most
            });
            for element in 0..3 * MANY {
                worker.try_push(element).unwrap();
                let stolen = deque.stealer().steal();
                assert_eq!(stolen.success().or_else(|| worker.pop()), Some(element));
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
            let most = looks.join().unwrap();
            assert!(most <= 4, "the deque had at most one element, not {most}");
        });
    }
}

/// Threads that are no thieves, such as one that prints a pool, look at the length too. Rings are
/// freed without regard to them.
#[test]
fn the_length_is_read_while_rings_are_replaced() {
    let deque = Deque::growable(Order::Lifo);
    let worker = deque.worker().unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                assert!(deque.len() <= MANY);
            }
        });
        for _ in 0..if cfg!(miri) { 3 } else { 5 } {
            (0..MANY).for_each(|element| worker.push(element));
            while worker.pop().is_some() {}
            worker.shrink_to(2);
            // SAFETY: 1. no thread steals.
            drop(unsafe { worker.take_replaced() });
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}

fn stampede<S: Storage<usize>>(deque: Deque<usize, S>, start: usize) {
    let deque = deque.starting_at(start);
    let worker = deque.worker().unwrap();
    let taken = Taken::new(MANY);
    let take = |element| taken.note(element);
    with_thieves(
        3,
        || deque.stealer().steal(),
        take,
        || {
            for element in 0..MANY {
                if let Err(Full(element)) = worker.try_push(element) {
                    taken.note(element);
                }
                // Short runs of pushes and pops keep the deque near empty, where the races are.
                if element % 3 != 0
                    && let Some(element) = worker.pop()
                {
                    taken.note(element);
                }
            }
            while let Some(element) = worker.pop() {
                taken.note(element);
            }
        },
    );
    taken.assert_all();
}

#[test]
fn stampede_growable() {
    for order in ORDERS {
        stampede(Deque::growable(order), 0);
    }
}

#[test]
fn stampede_fixed_across_the_wrap_around() {
    for order in ORDERS {
        stampede(
            Deque::<usize, Fixed<usize, 4>>::fixed(order),
            usize::MAX - MANY / 3,
        );
    }
}

/// Lets two thieves take batches while an owner does something, which notes what it takes itself.
fn stampede_of_batches<S: Storage<usize>>(
    deque: &Deque<usize, S>,
    own: impl Fn(&Worker<&Deque<usize, S>>, &Taken),
) {
    let worker = deque.worker().unwrap();
    let taken = Taken::new(MANY);
    let barrier = Barrier::new(3);
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let own = Deque::growable(Order::Lifo);
                let own = own.worker().unwrap();
                barrier.wait();
                loop {
                    let finished = done.load(std::sync::atomic::Ordering::SeqCst);
                    let stolen = deque.stealer().steal_batch_and_pop(&own);
                    if let Steal::Success(element) = stolen {
                        taken.note(element);
                    }
                    while let Some(element) = own.pop() {
                        taken.note(element);
                    }
                    if finished && stolen.is_empty() {
                        break;
                    }
                }
            });
        }
        barrier.wait();
        own(&worker, &taken);
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    taken.assert_all();
}

/// Covers CVE-2021-32810: batch steals while the buffer is replaced.
#[test]
fn stampede_of_batches_while_growing() {
    for order in ORDERS {
        stampede_of_batches(&Deque::growable(order), |worker, taken| {
            for element in 0..MANY {
                worker.push(element);
                if element % 16 == 0
                    && let Some(element) = worker.pop()
                {
                    taken.note(element);
                }
            }
        });
    }
}

/// Takes batches while the owner pops into their reach, and out of it again: from runs that are
/// shorter than a batch, as long, and longer.
#[test]
fn stampede_of_batches_against_pops() {
    let longest = if cfg!(miri) { 12 } else { 80 };
    for order in ORDERS {
        let deque = Deque::growable(order).starting_at(usize::MAX - MANY / 2);
        stampede_of_batches(&deque, |worker, taken| {
            let mut elements = 0..MANY;
            for run in (1..=longest).step_by(5).cycle() {
                let pushed = elements
                    .by_ref()
                    .take(run)
                    .map(|element| worker.push(element));
                let pushed = pushed.count();
                for element in (1..=pushed).map_while(|_| worker.pop()) {
                    taken.note(element);
                }
                if pushed == 0 {
                    break;
                }
            }
        });
    }
}

#[test]
fn destructors() {
    for order in ORDERS {
        let tally = Tally::default();
        let deque = Deque::growable(order);
        let worker = deque.worker().unwrap();
        let stop = MANY / 2;
        with_thieves(
            2,
            || deque.stealer().steal(),
            drop,
            || {
                (0..stop).for_each(|_| worker.push((tally.element(), 0_usize)));
                (0..stop / 4).for_each(|_| drop(worker.pop()));
            },
        );
        (stop..MANY).for_each(|_| worker.push((tally.element(), 1)));
        assert_eq!(tally.dropped(), stop);
        drop(worker);
        drop(deque);
        assert_eq!(tally.dropped(), MANY);
    }
}
