//! A few operations, with one thief in every interleaving: no element is lost, none is taken twice.

use ::loom::{model, model::Builder, sync::Arc, thread};
use std::vec::Vec;

use super::*;
use crate::{
    Steal,
    primitive::{AtomicBool, AtomicUsize, Ordering, full_fence},
};

type Elements = Vec<usize>;

fn steal_all<S: Storage<usize>>(deque: &Deque<usize, S>, attempts: usize) -> Elements {
    (0..attempts)
        .filter_map(|_| deque.stealer().steal().success())
        .collect()
}

/// Runs `own` as the owner, against thieves that make `attempts` each, and counts what is left at
/// the end.
fn check<S: Storage<usize> + 'static>(
    make: impl Fn() -> Deque<usize, S> + Sync + Send + 'static,
    prefilled: usize,
    thieves: &'static [usize],
    own: impl Fn(&Worker<&Deque<usize, S>>) -> (usize, Elements) + Sync + Send + 'static,
) {
    let mut model = Builder::new();
    // All interleavings with one thief; with two thieves that would take minutes.
    model.preemption_bound = (thieves.len() > 1).then_some(3);
    model.check(move || {
        let deque = Arc::new(make());
        let worker = deque.worker().unwrap();
        for element in 0..prefilled {
            worker.try_push(element).unwrap();
        }
        let thieves: Vec<_> = thieves
            .iter()
            .map(|&attempts| {
                let deque = deque.clone();
                thread::spawn(move || steal_all(&deque, attempts))
            })
            .collect();
        let (pushed, mut taken) = own(&worker);
        for thief in thieves {
            taken.extend(thief.join().unwrap());
        }
        taken.extend(core::iter::from_fn(|| worker.pop()));
        taken.sort_unstable();
        assert_eq!(taken, (0..prefilled + pushed).collect::<Elements>());
    });
}

fn pops(worker: &Worker<&Deque<usize, impl Storage<usize>>>, count: usize) -> Elements {
    (0..count).filter_map(|_| worker.pop()).collect()
}

fn fixed(order: Order) -> Deque<usize, Fixed<usize, 2>> {
    Deque::fixed(order).starting_at(usize::MAX)
}

#[test]
fn pop_against_steal_of_the_last() {
    for order in [Order::Lifo, Order::Fifo] {
        check(
            move || fixed(order),
            1,
            &[1, 1],
            |worker| (0, pops(worker, 1)),
        );
    }
}

/// Models a thief that decides by what the owner has published before it pushed the element. The
/// owner takes that element out again, and pushes another one at the same place.
#[test]
fn an_element_is_stolen_by_what_was_published_before_its_push() {
    model(|| {
        let deque = Arc::new((fixed(Order::Lifo), AtomicUsize::new(0)));
        let worker = deque.0.worker().unwrap();
        let thief = thread::spawn({
            let deque = deque.clone();
            move || {
                // Ordering: Relaxed; the push that the thief has seen releases what was published.
                let is_first_era = |_| deque.1.load(Ordering::Relaxed) == 1;
                deque.0.stealer().steal_if(is_first_era, || ())
            }
        });
        let mut taken = Vec::new();
        for era in 1..=2 {
            // Ordering: Relaxed, see above.
            deque.1.store(era, Ordering::Relaxed);
            worker.try_push(era).unwrap();
            taken.extend(worker.pop());
        }
        match thief.join().unwrap() {
            Steal::Success(era) => assert_eq!((era, taken), (1, std::vec![2])),
            Steal::Empty | Steal::Retry => assert_eq!(taken, [1, 2]),
        }
    });
}

#[test]
fn two_pops_against_two_thieves() {
    check(
        || fixed(Order::Lifo),
        2,
        &[1, 1],
        |worker| (0, pops(worker, 2)),
    );
}

#[test]
fn a_pop_of_the_oldest_against_two_thieves() {
    check(
        || fixed(Order::Lifo),
        2,
        &[1, 1],
        |worker| {
            let oldest = worker.pop_oldest();
            (0, oldest.into_iter().chain(worker.pop()).collect())
        },
    );
}

#[test]
fn push_pop_against_steals() {
    for order in [Order::Lifo, Order::Fifo] {
        check(
            move || fixed(order),
            1,
            &[2],
            |worker| {
                worker.try_push(1).unwrap();
                (1, pops(worker, 2))
            },
        );
    }
}

#[test]
fn a_slot_is_not_overwritten_under_a_thief() {
    check(
        || fixed(Order::Lifo),
        2,
        &[2],
        |worker| {
            let mut taken = pops(worker, 1);
            let pushed = match worker.try_push(2) {
                Ok(_) => 1,
                Err(Full(element)) => {
                    taken.push(element);
                    1
                }
            };
            (pushed, taken)
        },
    );
}

#[test]
fn growth_against_steal() {
    for order in [Order::Lifo, Order::Fifo] {
        check(
            move || Deque::growable(order),
            2,
            &[2],
            |worker| {
                worker.push(2);
                (1, pops(worker, 1))
            },
        );
    }
}

/// Creates a deque of two elements, 0 and 1, in a ring of eight.
fn roomy(order: Order) -> Deque<usize, Growable<usize>> {
    let deque = Deque::growable(order);
    let worker = deque.worker().unwrap();
    let elements = match order {
        Order::Lifo => [0, 1, 7, 8, 9],
        Order::Fifo => [7, 8, 9, 0, 1],
    };
    for element in elements {
        worker.push(element);
    }
    (0..3).for_each(|_| assert!(worker.pop() > Some(1)));
    drop(worker);
    deque
}

#[test]
fn shrinking_against_steals() {
    for order in [Order::Lifo, Order::Fifo] {
        check(
            move || roomy(order),
            0,
            &[2],
            |worker| {
                assert!(worker.shrink_to(2));
                worker.push(2);
                (3, pops(worker, 1))
            },
        );
    }
}

/// Checks that what a thief has read in the previous ring is as good as what it reads in the
/// smaller one.
#[test]
fn pops_and_a_push_around_shrinking_against_a_steal() {
    check(
        || roomy(Order::Lifo),
        0,
        &[1],
        |worker| {
            let mut taken = pops(worker, 1);
            assert!(worker.shrink_to(2));
            worker.push(2);
            taken.extend(pops(worker, 2));
            (3, taken)
        },
    );
}

/// Checks that what the owner wrote before a push is visible after the steal.
#[test]
fn an_element_is_published_with_what_it_refers_to() {
    for order in [Order::Lifo, Order::Fifo] {
        model(move || {
            let value = Arc::new(::loom::cell::UnsafeCell::new(0));
            let deque = Arc::new(Deque::<usize, Fixed<usize, 2>>::fixed(order));
            let thief = {
                let (value, deque) = (value.clone(), deque.clone());
                thread::spawn(move || {
                    if let Steal::Success(_) = deque.stealer().steal() {
                        // SAFETY: the owner writes before the push only.
                        value.with(|value| assert_eq!(unsafe { *value }, 1));
                    }
                })
            };
            let worker = deque.worker().unwrap();
            // SAFETY: the thief reads only after it has stolen what is pushed below.
            value.with_mut(|value| unsafe { *value = 1 });
            worker.try_push(0).unwrap();
            worker.try_push(1).unwrap();
            worker.pop();
            thief.join().unwrap();
        });
    }
}

/// Checks that the next owner goes on where the last one stopped: with its elements, positions and
/// ring.
#[test]
fn ownership_is_handed_over() {
    for order in [Order::Lifo, Order::Fifo] {
        model(move || {
            let deque = Arc::new(Deque::growable(order));
            let first = deque.worker().unwrap();
            let next = {
                let deque = deque.clone();
                thread::spawn(move || -> Elements {
                    let Ok(worker) = deque.worker() else {
                        return Elements::new();
                    };
                    worker.push(3);
                    core::iter::from_fn(|| worker.pop()).collect()
                })
            };
            // One more than the first ring has room for.
            (0..3_usize).for_each(|element| first.push(element));
            drop(first);
            let mut taken = next.join().unwrap();
            taken.sort_unstable();
            // Unless it came too early.
            assert!(taken.is_empty() || taken == [0, 1, 2, 3], "{taken:?}");
        });
    }
}

/// Lets two threads fall asleep, one after the other or at once, while an owner enables fast push
/// unless a thread sleeps: afterwards fast push is disabled.
#[test]
fn a_sleeper_keeps_fast_push_disabled() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let asleep = Arc::new([0, 1].map(|_| AtomicBool::new(false)));
        let deque = Arc::new(fixed(Order::Lifo).starting_at(1));
        let worker = deque.worker().unwrap();
        worker.try_push(0).unwrap();
        let sleepers = [0, 1].map(|number| {
            let (asleep, deque) = (asleep.clone(), deque.clone());
            thread::spawn(move || {
                asleep[number].store(true, Ordering::Relaxed);
                full_fence();
                deque.disable_fast_push();
            })
        });
        worker.enable_fast_push(|| asleep.iter().all(|asleep| !asleep.load(Ordering::Relaxed)));
        for sleeper in sleepers {
            sleeper.join().unwrap();
        }
        assert!(!worker.fast_push_enabled());
    });
}

/// Enables fast push after a push while another thread falls asleep: either the owner learns of
/// that, or the other thread sees the element.
#[test]
fn a_push_before_enabling_is_not_overlooked() {
    model(|| {
        let deque = Arc::new(fixed(Order::Lifo).starting_at(1));
        let is_asleep = Arc::new(AtomicBool::new(false));
        let worker = deque.worker().unwrap();
        let sleeper = {
            let (is_asleep, deque) = (is_asleep.clone(), deque.clone());
            thread::spawn(move || {
                is_asleep.store(true, Ordering::Relaxed);
                full_fence();
                deque.disable_fast_push();
                full_fence();
                !deque.is_empty()
            })
        };
        worker.try_push(0).unwrap();
        let owner_knows = !worker.enable_fast_push(|| !is_asleep.load(Ordering::Relaxed));
        let sleeper_sees = sleeper.join().unwrap();
        assert!(owner_knows || sleeper_sees, "overlooked");
        assert!(!worker.fast_push_enabled());
    });
}
