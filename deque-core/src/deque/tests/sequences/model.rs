//! Deques and an injector beside the queues of the standard library that they should agree with.

use core::cell::Cell;
use std::{collections::VecDeque, vec::Vec};

use super::{super::*, Batch, sample::Sample};
use crate::{
    Injector, Steal,
    batch::{self, MAX_BATCH},
    testing::Ledger,
};

std::thread_local! {
    /// Whether the system refuses process fences.
    pub(super) static REFUSES: Cell<bool> = const { Cell::new(false) };
}

/// Returns how many elements a batch takes of those that are available, at most.
fn batch_size(available: usize, batch: Batch, room: usize) -> usize {
    let wanted = available.div_ceil(2).min(batch.limit.unwrap_or(32));
    let popped = usize::from(batch.pops && wanted > 0);
    popped + room.min(wanted - popped)
}

/// Calls the function that steals a batch in this way.
macro_rules! steal_batch {
    ($source:expr, $batch:expr, $destination:expr) => {
        match ($batch.limit, $batch.pops) {
            (None, false) => $source.steal_batch($destination).map(|_| None),
            (None, true) => $source.steal_batch_and_pop($destination).map(Some),
            (Some(limit), false) => $source
                .steal_batch_with_limit($destination, limit)
                .map(|_| None),
            (Some(limit), true) => $source
                .steal_batch_with_limit_and_pop($destination, limit)
                .map(Some),
        }
    };
}

/// A deque with its owner, and what should be in it.
pub(super) struct Side<'a, T: Element, S: Storage<T>> {
    deque: &'a Deque<T, S>,
    worker: Option<Worker<&'a Deque<T, S>>>,
    /// The numbers of the elements, the oldest first, and where the owner has pushed them.
    model: VecDeque<(usize, Option<Position>)>,
    fast_push_enabled: bool,
}

impl<'a, T: Sample, S: Storage<T>> Side<'a, T, S> {
    pub(super) fn new(deque: &'a Deque<T, S>) -> Self {
        Self {
            deque,
            worker: Some(deque.worker().unwrap()),
            model: VecDeque::new(),
            fast_push_enabled: false,
        }
    }

    fn worker(&self) -> &Worker<&'a Deque<T, S>> {
        self.worker.as_ref().expect("there always is an owner")
    }

    /// Returns how many more elements fit.
    fn room(&self) -> usize {
        if S::REPLACES {
            usize::MAX
        } else {
            self.deque.shared.storage.buffer().slots.len() - self.model.len()
        }
    }

    pub(super) fn check(&self) {
        assert_eq!(self.deque.len(), self.model.len());
        assert_eq!(self.worker().len(), self.model.len());
        assert_eq!(self.worker().is_empty(), self.model.is_empty());
        assert_eq!(self.worker().fast_push_enabled(), self.fast_push_enabled);
    }

    pub(super) fn push(&mut self, count: usize, outside: &Outside<'_, T>) {
        self.push_by(count, outside, |worker, element| worker.try_push(element));
    }

    pub(super) fn fast_push(&mut self, count: usize, outside: &Outside<'_, T>) {
        self.push_by(count, outside, |worker, element| element.fast_push(worker));
    }

    fn push_by(
        &mut self,
        count: usize,
        outside: &Outside<'_, T>,
        push: impl Fn(&Worker<&'a Deque<T, S>>, T) -> Result<Position, Full<T>>,
    ) {
        for _ in 0..count {
            let element = T::new(outside.ledger);
            let number = element.number();
            match push(self.worker(), element) {
                Ok(position) => {
                    assert!(self.room() > 0, "a push into a full ring");
                    self.model.push_back((number, Some(position)));
                }
                Err(Full(element)) => {
                    assert_eq!((self.room(), element.number()), (0, number));
                }
            }
        }
    }

    /// Pops several elements, until there is none.
    pub(super) fn pop(&mut self, count: usize) {
        for _ in 0..count {
            let expected = match self.deque.order() {
                Order::Lifo => self.model.pop_back(),
                Order::Fifo => self.model.pop_front(),
            };
            let popped = self.worker().pop().map(|element| element.number());
            assert_eq!(popped, expected.map(|(number, _)| number));
            if popped.is_none() {
                break;
            }
        }
    }

    pub(super) fn pop_oldest(&mut self) {
        let popped = self.worker().pop_oldest().map(|element| element.number());
        assert_eq!(popped, self.model.pop_front().map(|(number, _)| number));
    }

    /// Whether a thief may be unable to steal although there are elements.
    fn may_retry(&self, outside: &Outside<'_, T>) -> bool {
        outside.has_refused && self.deque.order() == Order::Lifo
    }

    pub(super) fn steal(&mut self, accepts: bool, outside: &Outside<'_, T>) {
        let mut seen = None;
        let stolen = self.deque.stealer().steal_if(
            |position| {
                seen = Some(position);
                accepts
            },
            || (),
        );
        if let (Some(seen), Some(&(_, Some(pushed)))) = (seen, self.model.front()) {
            assert!(pushed == seen || self.deque.order() == Order::Fifo);
        }
        match stolen {
            Steal::Empty if seen.is_some() => assert!(!accepts && !self.model.is_empty()),
            Steal::Retry => assert!(self.may_retry(outside) && !self.model.is_empty()),
            stolen => {
                let stolen = stolen.success().map(|element| element.number());
                assert_eq!(stolen, self.model.pop_front().map(|(number, _)| number));
            }
        }
    }

    /// Steals the oldest element and so many after it at most.
    pub(super) fn steal_with_followers<D: Storage<T>>(
        &mut self,
        followers: usize,
        destination: &mut Side<'_, T, D>,
        outside: &Outside<'_, T>,
    ) {
        let half = batch::size(self.model.len(), MAX_BATCH).saturating_sub(1);
        let most = half.min(followers).min(destination.room());
        let asked = Cell::new(0);
        let stolen = self.deque.stealer().steal_with_followers(
            destination.worker(),
            |_| true,
            |_| asked.replace(asked.get() + 1) < followers,
            || (),
        );
        assert!(asked.get() <= half);
        let (oldest, moved) = match stolen {
            Steal::Empty => return assert!(self.model.is_empty()),
            Steal::Retry => return assert!(self.may_retry(outside) && !self.model.is_empty()),
            Steal::Success(stolen) => stolen,
        };
        assert_eq!(destination.arrived(), moved);
        assert!(moved <= most);
        if self.deque.order() == Order::Fifo {
            assert_eq!(moved, most);
        }
        let mut numbers = self.model.drain(..=moved).map(|(number, _)| number);
        assert_eq!(Some(oldest.number()), numbers.next());
        destination
            .model
            .extend(numbers.map(|number| (number, None)));
    }

    pub(super) fn take_back(&mut self, is_newest: bool) {
        let element = if is_newest {
            self.model.back()
        } else {
            self.model.front()
        };
        let Some(&(number, Some(position))) = element else {
            return;
        };
        let is_newest = self
            .model
            .back()
            .is_some_and(|&(newest, _)| newest == number);
        let expected = match self.deque.order() {
            Order::Lifo if is_newest => TakeBack::Taken,
            _ => TakeBack::NotNewest,
        };
        if let Some(answer) = T::newest_is(self.worker(), position, number) {
            assert_eq!(answer, expected == TakeBack::Taken);
            let other = T::newest_is(self.worker(), position, number + 1);
            assert_eq!(other, Some(false));
        }
        if let Some(answer) = T::take_back(self.worker(), position) {
            assert_eq!(answer, expected);
            if answer == TakeBack::Taken {
                self.model.pop_back();
            }
        }
    }

    pub(super) fn steal_batch<D: Storage<T>>(
        &mut self,
        batch: Batch,
        destination: &mut Side<'_, T, D>,
        outside: &Outside<'_, T>,
    ) {
        let most = batch_size(self.model.len(), batch, destination.room());
        let stolen = steal_batch!(self.deque.stealer(), batch, destination.worker());
        if stolen.is_retry() {
            assert!(self.may_retry(outside) && !self.model.is_empty());
            return;
        }
        let count = destination.arrived() + usize::from(batch.pops && stolen.is_success());
        if self.may_retry(outside) {
            assert!(count <= most && (count == 0) == (most == 0));
        } else {
            assert_eq!(count, most);
        }
        let numbers = self.take_oldest(count);
        destination.receive(numbers, batch, stolen);
    }

    pub(super) fn steal_batch_into_itself(&mut self, batch: Batch, outside: &Outside<'_, T>) {
        if self.may_retry(outside) {
            // The length would not tell how many were stolen.
            return;
        }
        let count = batch_size(self.model.len(), batch, self.room());
        let stolen = steal_batch!(self.deque.stealer(), batch, self.worker());
        assert_eq!(stolen.is_success(), count > 0);
        let numbers = self.take_oldest(count);
        self.receive(numbers, batch, stolen);
    }

    /// Returns how many elements there are that the model does not know of.
    fn arrived(&self) -> usize {
        self.worker().len() - self.model.len()
    }

    /// Takes the oldest elements out of the model, in the order in which the owner would take them.
    fn take_oldest(&mut self, count: usize) -> Vec<usize> {
        let numbers = self.model.drain(..count).map(|(number, _)| number);
        match self.deque.order() {
            Order::Lifo => numbers.rev().collect(),
            Order::Fifo => numbers.collect(),
        }
    }

    /// Puts a batch into the model, except the element that was returned. The owner takes it in
    /// this order.
    fn receive(&mut self, numbers: Vec<usize>, batch: Batch, stolen: Steal<Option<T>>) {
        let mut numbers: VecDeque<_> = numbers.into();
        if batch.pops {
            let popped = stolen.success().flatten().map(|element| element.number());
            assert_eq!(popped, numbers.pop_front());
        }
        if self.deque.order() == Order::Lifo {
            numbers = numbers.into_iter().rev().collect();
        }
        self.model
            .extend(numbers.into_iter().map(|number| (number, None)));
    }

    pub(super) fn enable_fast_push(&mut self, may_enable: bool) {
        let enabled = self.worker().enable_fast_push(|| may_enable);
        assert_eq!(enabled, may_enable);
        self.fast_push_enabled = may_enable && self.deque.order() == Order::Lifo;
    }

    pub(super) fn disable_fast_push(&mut self) {
        let was_enabled = self.deque.disable_fast_push();
        assert_eq!(was_enabled, core::mem::take(&mut self.fast_push_enabled));
    }

    pub(super) fn shrink_to(&self, least: usize) {
        let shrinks = self.worker().shrink_to(least);
        assert!(!shrinks || S::REPLACES);
    }

    pub(super) fn take_replaced(&self) {
        // SAFETY: 1. there is no other thread.
        drop(unsafe { self.worker().take_replaced() });
    }

    pub(super) fn end_bias(&self) {
        self.worker().end_bias();
    }

    pub(super) fn change_owner(&mut self) {
        self.worker = None;
        self.worker = Some(self.deque.worker().unwrap());
        self.fast_push_enabled = false;
        // A position means something only to the worker that it is from.
        self.model
            .iter_mut()
            .for_each(|(_, position)| *position = None);
    }
}

/// The injector, and what else does not belong to one deque.
pub(super) struct Outside<'a, T: Element> {
    ledger: &'a Ledger,
    injector: Injector<T>,
    model: VecDeque<usize>,
    has_refused: bool,
}

impl<'a, T: Sample> Outside<'a, T> {
    pub(super) fn new(ledger: &'a Ledger, start: usize) -> Self {
        REFUSES.set(false);
        Self {
            ledger,
            injector: Injector::new().starting_at(start),
            model: VecDeque::new(),
            has_refused: false,
        }
    }

    pub(super) fn check(&self) {
        assert_eq!(self.injector.len(), self.model.len());
        assert_eq!(self.injector.is_empty(), self.model.is_empty());
    }

    pub(super) fn push(&mut self, count: usize) {
        for _ in 0..count {
            let element = T::new(self.ledger);
            self.model.push_back(element.number());
            self.injector.push(element);
        }
    }

    pub(super) fn steal(&mut self) {
        let stolen = self
            .injector
            .steal()
            .success()
            .map(|element| element.number());
        assert_eq!(stolen, self.model.pop_front());
    }

    pub(super) fn steal_batch<S: Storage<T>>(
        &mut self,
        batch: Batch,
        destination: &mut Side<'_, T, S>,
    ) {
        let most = batch_size(self.model.len(), batch, destination.room());
        let stolen = steal_batch!(self.injector, batch, destination.worker());
        let count = destination.arrived() + usize::from(batch.pops && stolen.is_success());
        // Fewer at the end of a block.
        assert!(count <= most && (count == 0) == (most == 0));
        let numbers = self.model.drain(..count).collect();
        destination.receive(numbers, batch, stolen);
    }

    /// Lets the system refuse process fences from now on, or grant them.
    pub(super) fn refuse_fences(&mut self, refuses: bool) {
        REFUSES.set(refuses);
        self.has_refused |= refuses;
    }
}
