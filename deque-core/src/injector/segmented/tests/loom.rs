//! Blocks have three cells here, so that these few elements cross their ends.

use ::loom::{model::Builder, sync::Arc, thread};
use std::vec::Vec;

use super::*;

fn check(
    prefilled: usize,
    producers: &'static [usize],
    consumers: &'static [usize],
    preemptions: Option<usize>,
) {
    check_after(0, prefilled, producers, consumers, preemptions);
}

/// Checks as `check` does, after `gone` elements were pushed and stolen.
fn check_after(
    gone: usize,
    prefilled: usize,
    producers: &'static [usize],
    consumers: &'static [usize],
    preemptions: Option<usize>,
) {
    let mut builder = Builder::new();
    builder.preemption_bound = preemptions;
    let in_order = producers.len() < 2;
    builder.check(move || {
        let queue = Arc::new(Injector::new());
        for element in 0..gone {
            queue.push(element);
            assert_eq!(queue.steal(), Steal::Success(element));
        }
        (0..prefilled).for_each(|element| queue.push(element));
        let mut first = prefilled;
        let producers: Vec<_> = producers
            .iter()
            .map(|&count| {
                let (queue, range) = (queue.clone(), first..first + count);
                first += count;
                thread::spawn(move || range.for_each(|element| queue.push(element)))
            })
            .collect();
        let consumers: Vec<_> = consumers
            .iter()
            .map(|&attempts| {
                let queue = queue.clone();
                thread::spawn(move || -> Vec<usize> {
                    (0..attempts)
                        .filter_map(|_| queue.steal().success())
                        .collect()
                })
            })
            .collect();
        for producer in producers {
            producer.join().unwrap();
        }
        let mut taken = Vec::new();
        for consumer in consumers {
            let part = consumer.join().unwrap();
            assert!(part.is_sorted() || !in_order, "out of order: {part:?}");
            taken.extend(part);
        }
        while !queue.is_empty() {
            taken.extend(queue.steal().success());
        }
        taken.sort_unstable();
        assert_eq!(taken, (0..first).collect::<Vec<_>>());
    });
}

#[test]
fn push_against_steal() {
    check(0, &[2], &[2], None);
}

#[test]
fn two_consumers() {
    check(2, &[], &[1, 2], None);
}

/// Lets the second consumer follow the first one's index: it must see the tail that the first one
/// saw.
#[test]
fn two_consumers_and_a_producer() {
    check(0, &[1], &[1, 1], Some(3));
}

#[test]
fn the_end_of_a_block() {
    check(2, &[2], &[3], Some(3));
}

/// Lets the first consumer tell the second one where the tail is, and take nothing; beyond that the
/// second one must not find the tail behind.
#[test]
fn a_consumer_relies_on_what_another_saw() {
    check(0, &[2], &[1, 2], Some(2));
}

/// Lets the second consumer take an element because the first one saw the tail, and the third one
/// follow the second: it must not find the tail behind the head.
#[test]
fn a_consumer_follows_another_that_relied_on_a_third() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let queue = Arc::new(Injector::new());
        let consumers = [(); 3].map(|()| {
            let queue = queue.clone();
            thread::spawn(move || queue.steal().success())
        });
        queue.push(7_usize);
        let taken = consumers.map(|consumer| consumer.join().unwrap());
        let rest = core::iter::from_fn(|| queue.steal().success());
        assert!(taken.into_iter().flatten().chain(rest).eq([7]));
    });
}

#[test]
fn two_consumers_at_the_end_of_a_block() {
    check(4, &[], &[2, 2], Some(3));
}

#[test]
fn two_producers_at_the_end_of_a_block() {
    check(2, &[1, 1], &[], Some(3));
}

#[test]
fn two_producers_of_the_first_block() {
    check(0, &[1, 1], &[], None);
}

#[test]
fn a_consumer_follows_the_link_of_a_producer() {
    check_after(2, 0, &[2], &[2], Some(3));
}

/// Moves the head to the next block by the first consumer; the second one takes from that block.
#[test]
fn a_consumer_follows_the_link_of_another() {
    check_after(2, 2, &[], &[1, 1], None);
}

/// Lets the second consumer enter the next block before the first one has its element.
#[test]
fn a_consumer_overtakes_another_at_the_end_of_a_block() {
    check_after(2, 0, &[2], &[1, 1], Some(2));
}

#[test]
fn a_producer_follows_the_link_of_another() {
    check_after(2, 0, &[1, 1], &[], None);
}

/// Checks that the last consumer of a block frees it after the last use by the other one.
#[test]
fn a_block_is_freed_after_its_last_use() {
    check_after(1, 2, &[], &[1, 1], None);
}

/// Checks that the consumer sees what the producer wrote before the push.
#[test]
fn an_element_is_published_with_what_it_refers_to() {
    ::loom::model(|| {
        let value = Arc::new(::loom::cell::UnsafeCell::new(0));
        let queue = Arc::new(Injector::new());
        let consumer = {
            let (value, queue) = (value.clone(), queue.clone());
            thread::spawn(move || {
                if let Steal::Success(1_usize) = queue.steal() {
                    // SAFETY: the producer writes before the push only.
                    value.with(|value| assert_eq!(unsafe { *value }, 1));
                }
            })
        };
        // SAFETY: the consumer reads only after it has stolen what is pushed below.
        value.with_mut(|value| unsafe { *value = 1 });
        queue.push(1);
        consumer.join().unwrap();
    });
}

/// Steals batches that may reach the end of a block but do not cross it, against a push there and a
/// steal.
#[test]
fn batches_against_a_push_and_a_steal() {
    for prefilled in [2, 3] {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(2);
        builder.check(move || {
            let queue = Arc::new(Injector::new());
            (0..prefilled).for_each(|element| queue.push(element));
            let pusher = {
                let queue = queue.clone();
                thread::spawn(move || queue.push(prefilled))
            };
            let thief = {
                let queue = queue.clone();
                thread::spawn(move || queue.steal().success())
            };
            let own = crate::Deque::<usize, crate::Fixed<usize, 4>>::fixed(crate::Order::Fifo);
            let own = own.worker().unwrap();
            let mut taken: Vec<usize> = Vec::new();
            taken.extend(queue.steal_batch_and_pop(&own).success());
            let _ = queue.steal_batch(&own);
            taken.extend(core::iter::from_fn(|| own.pop()));
            assert!(taken.is_sorted());
            pusher.join().unwrap();
            taken.extend(thief.join().unwrap());
            taken.extend(core::iter::from_fn(|| queue.steal().success()));
            taken.sort_unstable();
            assert!(taken.into_iter().eq(0..=prefilled));
        });
    }
}

/// Steals one batch into a deque, and returns its elements.
fn steal_batch(queue: &Injector<usize>) -> Vec<usize> {
    let own = crate::Deque::<usize, crate::Fixed<usize, 4>>::fixed(crate::Order::Fifo);
    let own = own.worker().unwrap();
    let _ = queue.steal_batch(&own);
    core::iter::from_fn(|| own.pop()).collect()
}

/// Steals a batch while the first push publishes the first block.
#[test]
fn a_batch_from_the_first_block() {
    ::loom::model(|| {
        let queue = Arc::new(Injector::new());
        let consumer = {
            let queue = queue.clone();
            thread::spawn(move || steal_batch(&queue))
        };
        queue.push(7);
        let mut taken = consumer.join().unwrap();
        taken.extend(queue.steal().success());
        assert_eq!(taken, [7]);
    });
}

/// Lets a consumer follow the head's index that a batch has moved: it must see the tail that the
/// batch saw.
#[test]
fn a_consumer_follows_a_batch() {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let queue = Arc::new(Injector::new());
        let batch = {
            let queue = queue.clone();
            thread::spawn(move || steal_batch(&queue))
        };
        let consumer = {
            let queue = queue.clone();
            thread::spawn(move || queue.steal().success())
        };
        queue.push(7);
        let mut taken = batch.join().unwrap();
        taken.extend(consumer.join().unwrap());
        taken.extend(queue.steal().success());
        assert_eq!(taken, [7]);
    });
}

/// Checks that `is_empty` does not miss both of two elements, of which the second is pushed before
/// the first is stolen.
#[test]
fn a_queue_that_is_never_empty_does_not_look_empty() {
    Builder::new().check(|| {
        let queue = Arc::new(Injector::new());
        queue.push(0);
        let other = {
            let queue = queue.clone();
            thread::spawn(move || {
                queue.push(1);
                assert_eq!(queue.steal(), Steal::Success(0));
            })
        };
        let observer = {
            let queue = queue.clone();
            thread::spawn(move || assert!(!queue.is_empty()))
        };
        observer.join().unwrap();
        other.join().unwrap();
        assert_eq!(queue.steal(), Steal::Success(1));
    });
}
