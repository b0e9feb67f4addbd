//! Owners that push without a look at anything else, until they are alerted.

use std::{boxed::Box, cell::Cell, rc::Rc, sync::Arc};

use super::*;
use crate::{Steal, testing::interrupted_everywhere};

type Shared = Deque<usize, Fixed<usize, 8>>;

/// Another thread alerts the owner, looks, and sleeps if it sees nothing; all of it at one moment of a
/// push, whichever. Either it sees the element, or the owner sees the alert.
#[test]
fn a_sleeper_at_any_moment_of_a_push() {
    let calm_owner = || {
        let deque = Arc::new(Shared::fixed(Order::Lifo));
        let worker = Worker::new(deque.clone()).unwrap();
        worker.try_push(0).unwrap();
        assert_eq!(worker.pop(), Some(0));
        worker.calm_down(|| true);
        let sees_element = Rc::new(Cell::new(None));
        (deque, worker, sees_element)
    };
    interrupted_everywhere(
        calm_owner,
        |(deque, _, sees_element)| {
            let (deque, sees_element) = (deque.clone(), sees_element.clone());
            Box::new(move || {
                deque.alert();
                sees_element.set(Some(!deque.is_empty()));
            })
        },
        |(_, worker, sees_element)| {
            let place = worker.next_place();
            // SAFETY: 1. it is from just now.
            let pushed = unsafe { worker.push_at(place, 7) };
            match sees_element.get() {
                Some(false) => assert_eq!(pushed, Pushed::Alerted, "overlooked"),
                Some(true) => {}
                None => assert_eq!(pushed, Pushed::Calmly),
            }
        },
    );
}

fn push(worker: &Worker<&Shared>, element: usize) -> Pushed {
    // SAFETY: 1. it is from just now.
    unsafe { worker.push_at(worker.next_place(), element) }
}

fn calm_down(worker: &Worker<&Shared>) {
    assert!(worker.calm_down(|| true));
    assert!(worker.is_calm());
}

#[test]
fn a_full_ring_is_told_without_a_look() {
    for start in [0, 5, usize::MAX - 11, usize::MAX / 4 - 11] {
        let deque = Shared::fixed(Order::Lifo).starting_at(start);
        let worker = deque.worker().unwrap();
        calm_down(&worker);
        assert_eq!(
            push(&worker, 0),
            Pushed::NoRoom,
            "the first push has to look"
        );
        worker.try_push(0).unwrap();
        for element in 1..8 {
            assert_eq!(push(&worker, element), Pushed::Calmly);
        }
        assert_eq!(push(&worker, 8), Pushed::NoRoom);
        assert_eq!(worker.try_push(8), Err(Full(8)));
        assert_eq!(deque.stealer().steal(), Steal::Success(0));
        assert_eq!(
            push(&worker, 8),
            Pushed::NoRoom,
            "it does not know of the steal"
        );
        assert!(worker.try_push(8).is_ok());
        let newest_first: [usize; 8] = core::array::from_fn(|_| worker.pop().unwrap());
        assert_eq!(newest_first, [8, 7, 6, 5, 4, 3, 2, 1]);
        assert!(worker.is_calm());
    }
}

#[test]
fn an_alert_lasts_until_the_owner_calms_down() {
    let deque: Shared = Deque::fixed(Order::Lifo);
    let worker = deque.worker().unwrap();
    worker.try_push(0).unwrap();
    assert_eq!(push(&worker, 1), Pushed::Alerted, "as after an alert");
    calm_down(&worker);
    assert_eq!(push(&worker, 2), Pushed::Calmly);
    deque.alert();
    assert_eq!(push(&worker, 3), Pushed::Alerted);
    assert!(!worker.calm_down(|| false));
    assert_eq!(push(&worker, 4), Pushed::Alerted);
    // Room for more does not calm an owner down.
    for element in 5..8 {
        worker.try_push(element).unwrap();
    }
    assert_eq!(deque.stealer().steal(), Steal::Success(0));
    worker.try_push(8).unwrap();
    assert_eq!(deque.stealer().steal(), Steal::Success(1));
    assert!(!worker.is_calm());
    assert_eq!(push(&worker, 9), Pushed::NoRoom);
}

#[test]
fn a_calm_owner_stays_so_when_it_finds_room() {
    let deque: Shared = Deque::fixed(Order::Lifo);
    let worker = deque.worker().unwrap();
    calm_down(&worker);
    let looks = (0..36).filter(|&element| {
        let pushed = push(&worker, element);
        if pushed == Pushed::NoRoom {
            worker.try_push(element).unwrap();
        }
        assert!(worker.is_calm());
        assert_eq!(deque.stealer().steal(), Steal::Success(element));
        pushed == Pushed::NoRoom
    });
    assert_eq!(looks.count(), 5, "once in each lap");
}

#[test]
fn a_fifo_deque_is_never_calm() {
    let deque: Shared = Deque::fixed(Order::Fifo);
    let worker = deque.worker().unwrap();
    assert_eq!(worker.try_push(0), Ok(Place::NOWHERE));
    assert!(worker.calm_down(|| true));
    assert_eq!(push(&worker, 1), Pushed::Alerted);
    assert_eq!((worker.pop(), worker.pop()), (Some(0), Some(1)));
}
