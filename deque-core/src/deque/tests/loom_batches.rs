//! Batches against the owner and other thieves, in every interleaving. In models an exchange takes
//! two elements at most.

use ::loom::{model, model::Builder, sync::Arc, thread};
use std::vec::Vec;

use super::*;

type Elements = Vec<usize>;
type Shared = Deque<usize, Fixed<usize, 8>>;
/// What a thief does.
type Steals = fn(&Shared) -> Elements;

/// Steals a batch as another owner.
fn batch(deque: &Shared) -> Elements {
    let own = Deque::<usize, Fixed<usize, 8>>::fixed(Order::Fifo);
    let own = own.worker().unwrap();
    let _ = deque.stealer().steal_batch(&own);
    core::iter::from_fn(|| own.pop()).collect()
}

/// Steals an element with those that follow it, as another owner.
fn followers(deque: &Shared) -> Elements {
    let own = Deque::<usize, Fixed<usize, 8>>::fixed(Order::Fifo);
    let own = own.worker().unwrap();
    let stealer = deque.stealer();
    let stolen = stealer.steal_with_followers(&own, |_| true, |_| true, || ());
    let oldest = stolen.success().map(|(oldest, _)| oldest);
    let moved = core::iter::from_fn(|| own.pop());
    oldest.into_iter().chain(moved).collect()
}

/// A thief of each kind, alone and together.
const EACH: [&[Steals]; 2] = [&[batch], &[followers]];
const BOTH: &[Steals] = &[batch, followers];

/// Runs `own` as the owner of a deque with so many elements that is open to batches, against
/// thieves that steal once each.
fn check_open(
    elements: usize,
    thieves: &'static [Steals],
    bound: Option<usize>,
    own: impl Fn(&Worker<&Shared>) -> (usize, Elements) + Sync + Send + 'static,
) {
    let mut model = Builder::new();
    model.preemption_bound = bound;
    model.check(move || {
        let deque = Arc::new(Shared::fixed(Order::Lifo));
        let worker = deque.worker().unwrap();
        for element in 0..=elements {
            worker.try_push(element).unwrap();
        }
        // As after an earlier batch.
        let top = deque.top.load(crate::primitive::Ordering::Relaxed);
        deque.top.claim_and_open(top).unwrap();
        let thieves: Vec<_> = thieves
            .iter()
            .map(|&steal| {
                let deque = deque.clone();
                thread::spawn(move || steal(&deque))
            })
            .collect();
        let (pushed, mut taken) = own(&worker);
        for thief in thieves {
            taken.extend(thief.join().unwrap());
        }
        taken.extend(core::iter::from_fn(|| worker.pop()));
        taken.sort_unstable();
        assert_eq!(taken, (1..=elements + pushed).collect::<Elements>());
    });
}

fn pops(worker: &Worker<&Deque<usize, impl Storage<usize>>>, count: usize) -> Elements {
    (0..count).filter_map(|_| worker.pop()).collect()
}

/// Pops what a batch reaches, and what it does not.
#[test]
fn pops_against_a_batch_by_one_exchange() {
    for thief in EACH {
        check_open(3, thief, None, |worker| (0, pops(worker, 2)));
        check_open(2, thief, None, |worker| (0, pops(worker, 2)));
    }
}

/// Pops an element that a thief has read, and pushes another one to its place.
#[test]
fn a_push_to_a_place_that_a_batch_has_read() {
    for thief in EACH {
        check_open(3, thief, None, |worker| {
            let mut taken = pops(worker, 2);
            worker.try_push(4).unwrap();
            taken.extend(pops(worker, 1));
            worker.try_push(5).unwrap();
            (2, taken)
        });
    }
}

/// Lets one thief open the deque again that the owner has closed while another has read it.
#[test]
fn a_deque_that_is_opened_again_against_a_batch() {
    check_open(4, BOTH, Some(2), |worker| {
        let mut taken = pops(worker, 2);
        worker.try_push(5).unwrap();
        taken.extend(pops(worker, 1));
        (1, taken)
    });
}

/// Lets two thieves take batches while the owner pops all.
#[test]
fn pops_against_two_batches() {
    check_open(4, BOTH, Some(2), |worker| (0, pops(worker, 4)));
}

/// Covers CVE-2021-32810 and crossbeam#149 in small.
#[test]
fn batch_steal_against_pop_and_growth() {
    for order in [Order::Lifo, Order::Fifo] {
        model(move || {
            let deque = Arc::new(Deque::growable(order));
            let worker = deque.worker().unwrap();
            (0..2_usize).for_each(|element| worker.push(element));
            let thief = {
                let deque = deque.clone();
                thread::spawn(move || {
                    let own = Deque::growable(Order::Lifo);
                    let own = own.worker().unwrap();
                    let mut taken: Elements = deque
                        .stealer()
                        .steal_batch_and_pop(&own)
                        .success()
                        .into_iter()
                        .collect();
                    taken.extend(core::iter::from_fn(|| own.pop()));
                    taken
                })
            };
            worker.push(2);
            let mut taken: Elements = worker.pop().into_iter().collect();
            taken.extend(thief.join().unwrap());
            taken.extend(core::iter::from_fn(|| worker.pop()));
            taken.sort_unstable();
            assert_eq!(taken, [0, 1, 2]);
        });
    }
}

/// Covers crossbeam#149: the owner takes without touching `top` what a claim of several would
/// include.
#[test]
fn batch_steal_against_pops() {
    for order in [Order::Lifo, Order::Fifo] {
        model(move || {
            let deque = Arc::new(Deque::growable(order));
            let worker = deque.worker().unwrap();
            (0..3_usize).for_each(|element| worker.push(element));
            let thief = {
                let deque = deque.clone();
                thread::spawn(move || -> Elements {
                    let own = Deque::growable(Order::Fifo);
                    let own = own.worker().unwrap();
                    let _ = deque.stealer().steal_batch(&own);
                    core::iter::from_fn(|| own.pop()).collect()
                })
            };
            let mut taken = pops(&worker, 2);
            taken.extend(thief.join().unwrap());
            taken.extend(core::iter::from_fn(|| worker.pop()));
            taken.sort_unstable();
            assert_eq!(taken, [0, 1, 2]);
        });
    }
}

/// Checks that a batch from a FIFO deque is one exchange: no other thief takes an element from its
/// middle.
#[test]
fn a_batch_from_a_fifo_deque_has_no_gap() {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let deque = Arc::new(Deque::<usize, Fixed<usize, 4>>::fixed(Order::Fifo));
        let worker = deque.worker().unwrap();
        (0..4).for_each(|element| {
            worker.try_push(element).unwrap();
        });
        let other = {
            let deque = deque.clone();
            thread::spawn(move || deque.stealer().steal().success())
        };
        let own = Deque::<usize, Fixed<usize, 4>>::fixed(Order::Fifo);
        let own = own.worker().unwrap();
        let first = deque.stealer().steal_batch_and_pop(&own).success();
        let rest: Elements = core::iter::from_fn(|| own.pop()).collect();
        if let Some(first) = first {
            let length = if first == 0 { 1..=1 } else { 0..=1 };
            assert!(length.contains(&rest.len()));
            assert!(
                rest.iter().all(|&next| next == first + 1),
                "{first} {rest:?}"
            );
        }
        other.join().unwrap();
    });
}
