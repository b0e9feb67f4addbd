//! Elements whose conversion to words and back uses the queues, or panics.

use core::cell::{Cell, RefCell};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
};

use super::*;
use crate::{
    ArcWorker, Injector,
    testing::{Ledger, Numbered},
};

type Action = fn(&Queues);

std::thread_local! {
    /// What a conversion does, and how many conversions come before that one.
    static MEDDLE: Cell<Option<(usize, Action)>> = const { Cell::new(None) };
    static QUEUES: RefCell<Option<Rc<Queues>>> = const { RefCell::new(None) };
}

/// Uses the queues, or panics, while it is taken apart or put together.
#[derive(Debug)]
struct Meddler(Numbered);

impl Meddler {
    fn meddle() {
        match MEDDLE.take() {
            Some((0, action)) => {
                let queues = QUEUES.with_borrow(Clone::clone).expect("there are queues");
                action(&queues);
            }
            Some((before, action)) => MEDDLE.set(Some((before - 1, action))),
            None => {}
        }
    }
}

// SAFETY: 1. and 2. as for the number; what else it does is no part of that.
unsafe impl Element for Meddler {
    type Words = <Numbered as Element>::Words;

    fn into_words(self) -> Self::Words {
        Self::meddle();
        self.0.into_words()
    }

    unsafe fn from_words(words: Self::Words) -> Self {
        Self::meddle();
        // SAFETY: 1. and 2. are forwarded to our caller.
        Self(unsafe { Numbered::from_words(words) })
    }
}

struct Queues {
    ledger: Rc<Ledger>,
    growable: ArcWorker<Meddler>,
    fixed: Worker<Arc<Deque<Meddler, Fixed<Meddler, 4>>>>,
    injector: Injector<Meddler>,
}

impl Queues {
    /// Creates queues with `count` elements each.
    fn new(ledger: &Rc<Ledger>, orders: [Order; 2], count: usize) -> Self {
        let queues = Self {
            ledger: ledger.clone(),
            growable: Worker::new(Arc::new(Deque::growable(orders[0]))).unwrap(),
            fixed: Worker::new(Arc::new(Deque::fixed(orders[1]))).unwrap(),
            injector: Injector::new(),
        };
        for _ in 0..count {
            queues.growable.push(queues.element());
            assert!(queues.fixed.try_push(queues.element()).is_ok());
            queues.injector.push(queues.element());
        }
        queues
    }

    fn element(&self) -> Meddler {
        Meddler(self.ledger.element())
    }
}

/// Whatever a caller may do with the queues; each action converts one element at least, if there is
/// one.
const ACTIONS: &[Action] = &[
    |queues| queues.growable.push(queues.element()),
    |queues| drop(queues.fixed.try_push(queues.element())),
    |queues| queues.injector.push(queues.element()),
    |queues| drop(queues.growable.pop()),
    |queues| drop(queues.fixed.pop()),
    |queues| drop(queues.growable.stealer().steal()),
    |queues| drop(queues.fixed.stealer().steal()),
    |queues| drop(queues.injector.steal()),
    |queues| drop(queues.growable.stealer().steal_batch_and_pop(&queues.fixed)),
    |queues| drop(queues.fixed.stealer().steal_batch_and_pop(&queues.growable)),
    |queues| {
        drop(
            queues
                .growable
                .stealer()
                .steal_batch_and_pop(&queues.growable),
        )
    },
    |queues| drop(queues.injector.steal_batch_and_pop(&queues.growable)),
    |queues| drop(queues.injector.steal_batch_and_pop(&queues.fixed)),
];

/// Runs each action while a conversion runs `meddle`, once for each conversion that there is.
/// Checks that at most `may_lose` elements were lost each time.
fn with_each_action(orders: [Order; 2], count: usize, meddle: Action, may_lose: usize) {
    for action in ACTIONS {
        for before in 0.. {
            let ledger = Rc::new(Ledger::new());
            let queues = Rc::new(Queues::new(&ledger, orders, count));
            QUEUES.set(Some(queues.clone()));
            MEDDLE.set(Some((before, meddle)));
            let _ = catch_unwind(AssertUnwindSafe(|| action(&queues)));
            let is_over = MEDDLE.take().is_some();
            // What comes next finds the queues whole.
            ACTIONS.iter().for_each(|action| action(&queues));
            QUEUES.set(None);
            drop(queues);
            let lost = ledger.lost();
            assert!(lost <= may_lose, "{orders:?}, {count}: {lost} are lost");
            if is_over {
                break;
            }
        }
    }
}

fn orders() -> impl Iterator<Item = [Order; 2]> {
    use Order::{Fifo, Lifo};
    let all = [[Lifo, Fifo], [Fifo, Lifo], [Lifo, Lifo], [Fifo, Fifo]];
    // Miri is slow.
    all.into_iter().take(if cfg!(miri) { 1 } else { 4 })
}

#[test]
fn an_element_that_uses_the_queues_while_it_is_converted_doubles_nothing() {
    let counts = if cfg!(miri) { 2..3 } else { 0..5 };
    for orders in orders() {
        for count in counts.clone() {
            for &meddle in ACTIONS.iter().step_by(if cfg!(miri) { 20 } else { 1 }) {
                with_each_action(orders, count, meddle, 0);
            }
        }
    }
}

/// An element that is not put together again is lost, and no other one.
#[test]
fn an_element_that_panics_while_it_is_converted_is_the_only_one_that_is_lost() {
    let counts = if cfg!(miri) { 2..3 } else { 0..5 };
    for orders in orders() {
        for count in counts.clone() {
            let panics: Action = |_| panic!("a conversion that panics");
            with_each_action(orders, count, panics, 1);
        }
    }
}
