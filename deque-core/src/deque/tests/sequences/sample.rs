//! The elements of a sequence, and what only numbers can do.

use super::super::*;
use crate::testing::{Ledger, Numbered};

/// An element of a sequence.
pub(super) trait Sample: Element {
    fn new(ledger: &Ledger) -> Self;
    fn number(&self) -> usize;

    /// Pushes by [`Worker::fast_push`] if the type allows it.
    fn fast_push<S: Storage<Self>>(
        self,
        worker: &Worker<&Deque<Self, S>>,
    ) -> Result<Position, Full<Self>> {
        worker.try_push(self)
    }

    /// Takes an element back if the type allows it.
    fn take_back<S: Storage<Self>>(
        _worker: &Worker<&Deque<Self, S>>,
        _position: Position,
    ) -> Option<TakeBack> {
        None
    }

    /// Whether the newest element is this one.
    fn newest_is<S: Storage<Self>>(
        _worker: &Worker<&Deque<Self, S>>,
        _position: Position,
        _number: usize,
    ) -> Option<bool> {
        None
    }
}

impl Sample for Numbered {
    fn new(ledger: &Ledger) -> Self {
        ledger.element()
    }

    fn number(&self) -> usize {
        self.0
    }
}

impl Sample for usize {
    fn new(ledger: &Ledger) -> Self {
        ledger.element().0
    }

    fn number(&self) -> usize {
        *self
    }

    fn fast_push<S: Storage<Self>>(
        self,
        worker: &Worker<&Deque<Self, S>>,
    ) -> Result<Position, Full<Self>> {
        let position = worker.next_position();
        // SAFETY: 1. the position is from just now.
        let pushed = unsafe { worker.fast_push(position, self) };
        if pushed == FastPush::LimitReached {
            return worker.try_push(self);
        }
        assert_eq!(pushed == FastPush::Pushed, worker.fast_push_enabled());
        Ok(match worker.deque().order() {
            Order::Lifo => position,
            Order::Fifo => Position::NOWHERE,
        })
    }

    fn take_back<S: Storage<Self>>(
        worker: &Worker<&Deque<Self, S>>,
        position: Position,
    ) -> Option<TakeBack> {
        // SAFETY: 1. forwarded to our caller, which passes what a push has returned.
        Some(unsafe { worker.take_back(position) })
    }

    fn newest_is<S: Storage<Self>>(
        worker: &Worker<&Deque<Self, S>>,
        position: Position,
        number: usize,
    ) -> Option<bool> {
        Some(worker.newest_is(position, |[word]| word.addr() == number))
    }
}
