//! What a thief calls while it revokes the owner's bias: it uses the deque itself, or panics.

use core::cell::RefCell;

use super::*;
use crate::testing::{Ledger, Numbered};

type Numbers = Deque<Numbered, Fixed<Numbered, 4>>;

/// A biased deque, its owner, and another one.
struct Scene<'a> {
    ledger: &'a Ledger,
    deque: &'a Numbers,
    worker: RefCell<Option<Worker<&'a Numbers>>>,
    other: Worker<&'a Numbers>,
}

impl<'a> Scene<'a> {
    fn new(ledger: &'a Ledger, [deque, other]: [&'a Numbers; 2], count: usize) -> Self {
        let worker = deque.worker().unwrap();
        (0..count).for_each(|_| assert!(worker.try_push(ledger.element()).is_ok()));
        assert!(deque.top.bias(deque.top.load(SeqCst)));
        Self {
            ledger,
            deque,
            worker: RefCell::new(Some(worker)),
            other: other.worker().unwrap(),
        }
    }

    fn push(&self) {
        self.with_worker(|worker| drop(worker.try_push(self.ledger.element())));
    }

    fn pop(&self) -> Option<Numbered> {
        self.with_worker(Worker::pop)
    }

    fn with_worker<T>(&self, with: impl FnOnce(&Worker<&'a Numbers>) -> T) -> T {
        with(self.worker.borrow().as_ref().expect("there is an owner"))
    }
}

const ACTIONS: &[fn(&Scene<'_>)] = &[
    |scene| drop(scene.pop()),
    |scene| while scene.pop().is_some() {},
    |scene| {
        while scene.pop().is_some() {}
        scene.push();
        scene.push();
    },
    |scene| scene.push(),
    |scene| drop(scene.deque.stealer().steal()),
    |scene| {
        let _ = scene.deque.stealer().steal_batch(&scene.other);
    },
    |scene| scene.with_worker(Worker::end_bias),
    |scene| {
        scene.worker.take();
        *scene.worker.borrow_mut() = Some(scene.deque.worker().unwrap());
        drop(scene.pop());
    },
];

/// Runs each action in the middle of a steal that revokes a bias.
#[test]
fn a_revocation_that_uses_the_deque_doubles_nothing() {
    counted_fence!(2);
    for is_refused in [false, true] {
        FENCE.is_refused.store(is_refused, SeqCst);
        for action in ACTIONS {
            for count in 1..=if cfg!(miri) { 2 } else { 4 } {
                let ledger = Ledger::new();
                let deques =
                    [(); 2].map(|()| Numbers::fixed(Order::Lifo).with_process_fence::<Fence>());
                let scene = Scene::new(&ledger, deques.each_ref(), count);
                let stolen = scene.deque.stealer().steal_if(|_| true, || action(&scene));
                for action in ACTIONS {
                    action(&scene);
                }
                drop((stolen, scene));
                drop(deques);
                ledger.assert_each_dropped_once();
            }
        }
    }
}

#[test]
fn a_revocation_that_panics_leaves_the_elements_to_owner_and_thieves() {
    counted_fence!(10);
    for is_refused in [false, true] {
        FENCE.is_refused.store(is_refused, SeqCst);
        let deque: Shared = Deque::fixed(Order::Lifo).with_process_fence::<Fence>();
        let worker = two_elements(&deque);
        assert!(deque.top.bias(deque.top.load(SeqCst)));
        let thief = deque.stealer();
        let steal = || thief.steal_if(|_| true, || panic!("a revocation that panics"));
        assert!(std::panic::catch_unwind(steal).is_err());
        if is_refused {
            assert_eq!(thief.steal(), Steal::Retry, "the owner has not answered");
        }
        push_and_pop(&worker, 60);
        assert!(!is_biased(&deque), "no thread ends the revocation");
        assert_eq!(thief.steal(), Steal::Success(0));
        assert_eq!(worker.pop(), Some(1));
        assert_eq!((thief.steal(), worker.pop()), (Steal::Empty, None));
    }
}
