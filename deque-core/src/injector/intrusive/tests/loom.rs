use ::loom::{model, sync::Arc, thread};
use std::{boxed::Box, vec::Vec};

use super::*;

type Queue = IntrusiveInjector<'static, usize>;

fn push(queue: &Queue, value: usize) {
    queue.push(Box::leak(Box::new(Node::new(value))));
}

fn steal(queue: &Queue) -> Option<usize> {
    // SAFETY: every node of this module was leaked from a box, and is stolen once.
    let node = unsafe { Box::from_raw(queue.steal_raw().success()?.as_ptr()) };
    Some(node.into_value())
}

fn check(prefilled: usize, producers: &'static [usize], consumers: &'static [usize]) {
    model(move || {
        let queue = Arc::new(Queue::new());
        (0..prefilled).for_each(|value| push(&queue, value));
        let producers: Vec<_> = producers
            .iter()
            .map(|&value| {
                let queue = queue.clone();
                thread::spawn(move || push(&queue, value))
            })
            .collect();
        let consumers: Vec<_> = consumers
            .iter()
            .map(|&attempts| {
                let queue = queue.clone();
                thread::spawn(move || -> Vec<usize> {
                    (0..attempts).filter_map(|_| steal(&queue)).collect()
                })
            })
            .collect();
        let pushed = producers.len();
        for producer in producers {
            producer.join().unwrap();
        }
        let mut taken = Vec::new();
        for consumer in consumers {
            taken.extend(consumer.join().unwrap());
        }
        assert!(queue.is_empty() || taken.len() < prefilled + pushed);
        while !queue.is_empty() {
            taken.extend(steal(&queue));
        }
        taken.sort_unstable();
        assert_eq!(taken, (0..prefilled + pushed).collect::<Vec<_>>());
    });
}

#[test]
fn push_against_steal() {
    check(1, &[1], &[2]);
}

#[test]
fn two_consumers() {
    check(2, &[], &[1, 1]);
}

#[test]
fn two_producers_and_a_consumer() {
    check(0, &[0, 1], &[1]);
}

/// Checks that `is_empty` never overlooks an element that is there all the time.
#[test]
fn is_empty_sees_an_element_on_its_way() {
    model(|| {
        let queue = Arc::new(Queue::new());
        (0..2).for_each(|value| push(&queue, value));
        let taker = {
            let queue = queue.clone();
            thread::spawn(move || steal(&queue))
        };
        // On a thread of its own: loom does not interleave the first thread's own steps with those
        // of a thread that has not begun.
        let observer = {
            let queue = queue.clone();
            thread::spawn(move || assert!(!queue.is_empty(), "only one of two is ever taken"))
        };
        observer.join().unwrap();
        let first = taker.join().unwrap();
        let second = steal(&queue);
        assert_eq!((first, second), (Some(0), Some(1)));
    });
}

/// Checks that `is_empty` does not miss both of two elements, of which the second is pushed before
/// the first is stolen.
#[test]
fn a_queue_that_is_never_empty_does_not_look_empty() {
    model(|| {
        let queue = Arc::new(Queue::new());
        (0..2).for_each(|value| push(&queue, value));
        assert_eq!(steal(&queue), Some(0));
        let other = {
            let queue = queue.clone();
            thread::spawn(move || {
                push(&queue, 2);
                assert_eq!(steal(&queue), Some(1));
            })
        };
        let observer = {
            let queue = queue.clone();
            thread::spawn(move || assert!(!queue.is_empty()))
        };
        observer.join().unwrap();
        other.join().unwrap();
        assert_eq!(steal(&queue), Some(2));
    });
}
