//! Owners that push without asking whether a worker sleeps, until a thread disables that.

use std::{boxed::Box, cell::Cell, rc::Rc, sync::Arc};

use super::*;
use crate::{Steal, testing::interrupted_everywhere};

type Shared = Deque<usize, Fixed<usize, 8>>;

/// Lets another thread disable fast push, look, and sleep if it sees nothing, at each moment of a
/// push. Either it sees the element, or the owner sees that fast push is disabled.
#[test]
fn a_sleeper_at_any_moment_of_a_push() {
    let fast_owner = || {
        let deque = Arc::new(Shared::fixed(Order::Lifo));
        let worker = Worker::new(deque.clone()).unwrap();
        worker.try_push(0).unwrap();
        assert_eq!(worker.pop(), Some(0));
        worker.enable_fast_push(|| true);
        let sees_element = Rc::new(Cell::new(None));
        (deque, worker, sees_element)
    };
    interrupted_everywhere(
        fast_owner,
        |(deque, _, sees_element)| {
            let (deque, sees_element) = (deque.clone(), sees_element.clone());
            Box::new(move || {
                deque.disable_fast_push();
                sees_element.set(Some(!deque.is_empty()));
            })
        },
        |(_, worker, sees_element)| {
            let place = worker.next_position();
            // SAFETY: 1. it is from just now.
            let pushed = unsafe { worker.fast_push(place, 7) };
            match sees_element.get() {
                Some(false) => assert_eq!(pushed, FastPush::PushedWhileDisabled, "overlooked"),
                Some(true) => {}
                None => assert_eq!(pushed, FastPush::Pushed),
            }
        },
    );
}

fn push(worker: &Worker<&Shared>, element: usize) -> FastPush {
    // SAFETY: 1. it is from just now.
    unsafe { worker.fast_push(worker.next_position(), element) }
}

fn enable(worker: &Worker<&Shared>) {
    assert!(worker.enable_fast_push(|| true));
    assert!(worker.fast_push_enabled());
}

#[test]
fn a_full_ring_ends_fast_pushes_without_a_look_at_top() {
    for start in [0, 5, usize::MAX - 11, usize::MAX / 4 - 11] {
        let deque = Shared::fixed(Order::Lifo).starting_at(start);
        let worker = deque.worker().unwrap();
        enable(&worker);
        assert_eq!(
            push(&worker, 0),
            FastPush::LimitReached,
            "the first push must load top"
        );
        worker.try_push(0).unwrap();
        for element in 1..8 {
            assert_eq!(push(&worker, element), FastPush::Pushed);
        }
        assert_eq!(push(&worker, 8), FastPush::LimitReached);
        assert_eq!(worker.try_push(8), Err(Full(8)));
        assert_eq!(deque.stealer().steal(), Steal::Success(0));
        assert_eq!(
            push(&worker, 8),
            FastPush::LimitReached,
            "the owner does not know of the steal"
        );
        assert!(worker.try_push(8).is_ok());
        let newest_first: [usize; 8] = core::array::from_fn(|_| worker.pop().unwrap());
        assert_eq!(newest_first, [8, 7, 6, 5, 4, 3, 2, 1]);
        assert!(worker.fast_push_enabled());
    }
}

#[test]
fn fast_push_stays_disabled_until_the_owner_enables_it() {
    let deque: Shared = Deque::fixed(Order::Lifo);
    let worker = deque.worker().unwrap();
    worker.try_push(0).unwrap();
    assert_eq!(
        push(&worker, 1),
        FastPush::PushedWhileDisabled,
        "a new owner starts with fast push disabled"
    );
    enable(&worker);
    assert_eq!(push(&worker, 2), FastPush::Pushed);
    deque.disable_fast_push();
    assert_eq!(push(&worker, 3), FastPush::PushedWhileDisabled);
    assert!(!worker.enable_fast_push(|| false));
    assert_eq!(push(&worker, 4), FastPush::PushedWhileDisabled);
    // Finding room does not enable fast push.
    for element in 5..8 {
        worker.try_push(element).unwrap();
    }
    assert_eq!(deque.stealer().steal(), Steal::Success(0));
    worker.try_push(8).unwrap();
    assert_eq!(deque.stealer().steal(), Steal::Success(1));
    assert!(!worker.fast_push_enabled());
    assert_eq!(push(&worker, 9), FastPush::LimitReached);
}

#[test]
fn fast_push_stays_enabled_when_the_owner_finds_room() {
    let deque: Shared = Deque::fixed(Order::Lifo);
    let worker = deque.worker().unwrap();
    enable(&worker);
    let looks = (0..36).filter(|&element| {
        let pushed = push(&worker, element);
        if pushed == FastPush::LimitReached {
            worker.try_push(element).unwrap();
        }
        assert!(worker.fast_push_enabled());
        assert_eq!(deque.stealer().steal(), Steal::Success(element));
        pushed == FastPush::LimitReached
    });
    assert_eq!(looks.count(), 5, "once per lap");
}

#[test]
fn a_fifo_deque_never_enables_fast_push() {
    let deque: Shared = Deque::fixed(Order::Fifo);
    let worker = deque.worker().unwrap();
    assert_eq!(worker.try_push(0), Ok(Position::NOWHERE));
    assert!(worker.enable_fast_push(|| true));
    assert_eq!(push(&worker, 1), FastPush::PushedWhileDisabled);
    assert_eq!((worker.pop(), worker.pop()), (Some(0), Some(1)));
}

#[test]
fn a_panic_of_the_question_leaves_fast_push_disabled() {
    let deque: Shared = Deque::fixed(Order::Lifo);
    let worker = deque.worker().unwrap();
    worker.try_push(0).unwrap();
    for enabled_before in [false, true] {
        if enabled_before {
            enable(&worker);
        }
        let ask = || worker.enable_fast_push(|| panic!("a question that panics"));
        assert!(std::panic::catch_unwind(ask).is_err());
        assert!(
            !worker.fast_push_enabled(),
            "no worker was asked whether it sleeps"
        );
    }
    enable(&worker);
}
