//! Steals of several elements at once.

use super::{Stealer, Top};
use crate::{
    batch::{self, MAX_BATCH},
    deque::{
        Handle, Order, Storage, Worker,
        ends::{MAX_CLAIM, Mode},
    },
    element::{Element, Slot},
    steal::Steal,
};

impl<H: Handle> Stealer<H> {
    /// Steals half of the elements, rounded up, but at most 32, into the deque of another owner.
    /// Returns how many were stolen.
    ///
    /// The other owner takes them in the order in which this deque's owner would have taken them:
    /// the oldest first if this deque is FIFO, the newest of the batch first if it is LIFO.
    ///
    /// This is one compare-exchange for 32 elements. From a LIFO deque, the first element is taken
    /// by one of its own unless batches were stolen before and the owner has not popped near
    /// them since. Then the owner and other thieves may take some in between. If the
    /// destination lacks room, fewer are stolen; if it is full, none ([`Steal::Empty`]).
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let (busy, idle) = (Worker::new_fifo(), Worker::new_lifo());
    /// (1..=4).for_each(|job| busy.push(job));
    /// assert_eq!(busy.stealer().steal_batch(&idle), Steal::Success(2));
    /// assert_eq!((idle.pop(), idle.pop()), (Some(1), Some(2)));
    /// ```
    pub fn steal_batch<D>(&self, destination: &Worker<D>) -> Steal<usize>
    where
        D: Handle<Element = H::Element>,
    {
        self.steal_batch_with_limit(destination, MAX_BATCH)
    }

    /// Steals as [`steal_batch`](Self::steal_batch) does, but at most `limit` elements.
    ///
    /// # Panics
    /// If `limit` is zero.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let (busy, idle) = (Worker::new_fifo(), Worker::new_fifo());
    /// (1..=100).for_each(|job| busy.push(job));
    /// assert_eq!(busy.stealer().steal_batch_with_limit(&idle, 2), Steal::Success(2));
    /// assert_eq!(busy.stealer().steal_batch_with_limit(&idle, 100), Steal::Success(49));
    /// ```
    pub fn steal_batch_with_limit<D>(&self, destination: &Worker<D>, limit: usize) -> Steal<usize>
    where
        D: Handle<Element = H::Element>,
    {
        self.take_batch(destination, limit, false)
            .map(|(count, _)| count)
    }

    /// Steals as [`steal_batch`](Self::steal_batch) does, but returns the element of the batch that
    /// this deque's owner would have taken first, and puts only the others into `destination`. So a
    /// full destination does not keep it from stealing one.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let (busy, idle) = (Worker::new_lifo(), Worker::new_lifo());
    /// (1..=6).for_each(|job| busy.push(job));
    /// assert_eq!(busy.stealer().steal_batch_and_pop(&idle), Steal::Success(3));
    /// assert_eq!((idle.pop(), idle.pop()), (Some(2), Some(1)));
    /// ```
    pub fn steal_batch_and_pop<D>(&self, destination: &Worker<D>) -> Steal<H::Element>
    where
        D: Handle<Element = H::Element>,
    {
        self.steal_batch_with_limit_and_pop(destination, MAX_BATCH)
    }

    /// Steals as [`steal_batch_and_pop`](Self::steal_batch_and_pop) does, but at most `limit`
    /// elements, including the returned one.
    ///
    /// # Panics
    /// If `limit` is zero.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let (busy, idle) = (Worker::new_fifo(), Worker::new_fifo());
    /// (1..=6).for_each(|job| busy.push(job));
    /// let stolen = busy.stealer().steal_batch_with_limit_and_pop(&idle, 2);
    /// assert_eq!(stolen, Steal::Success(1));
    /// assert_eq!((idle.pop(), idle.pop()), (Some(2), None));
    /// ```
    pub fn steal_batch_with_limit_and_pop<D>(
        &self,
        destination: &Worker<D>,
        limit: usize,
    ) -> Steal<H::Element>
    where
        D: Handle<Element = H::Element>,
    {
        self.take_batch(destination, limit, true)
            .map(|(_, first)| first.expect("a batch has a first element"))
    }

    /// Steals a batch. Returns how many elements went to the destination, and the one that did not.
    fn take_batch<D>(
        &self,
        destination: &Worker<D>,
        limit: usize,
        pops: bool,
    ) -> Steal<(usize, Option<H::Element>)>
    where
        D: Handle<Element = H::Element>,
    {
        batch::check_limit(limit);
        let Some((top, available)) = self.observe(|| ()) else {
            return Steal::Retry;
        };
        // If this thread was interrupted between its looks at the two ends, many elements may have
        // passed through the deque meanwhile. There are never more than the ring has cells, so the
        // destination needs no room for more.
        let cells = self.deque.shared.storage.buffer().slots.len();
        let wanted = batch::size(available.min(cells), limit);
        if wanted == 0 {
            return Steal::Empty;
        }
        match self.deque.shared.order {
            Order::Fifo => self.take_at_once(destination, top, wanted, pops),
            // The owner of a LIFO deque takes elements without touching `top` as long as it sees
            // one more; a claim of several could overlap with what it took (crossbeam#149), unless
            // the mode is open.
            Order::Lifo => self.take_in_claims(destination, top, available, wanted, pops),
        }
    }

    /// Claims all elements of the batch by one exchange, from a FIFO deque.
    fn take_at_once<D>(
        &self,
        destination: &Worker<D>,
        top: Top,
        wanted: usize,
        pops: bool,
    ) -> Steal<(usize, Option<H::Element>)>
    where
        D: Handle<Element = H::Element>,
    {
        let popped = usize::from(pops);
        let reserved = destination.reserve(wanted - popped);
        let count = reserved.room;
        if count + popped == 0 {
            return Steal::Empty;
        }
        let buffer = self.deque.shared.storage.buffer();
        let first = pops.then(|| buffer.slot(top.position()).load());
        for offset in 0..count {
            reserved.write(
                offset,
                buffer.slot(top.position().plus(popped + offset)).load(),
            );
        }
        if self.deque.top.claim(top, popped + count).is_err() {
            return Steal::Retry;
        }
        if destination.deque().order() == Order::Lifo {
            reserved.reverse(count);
        }
        // SAFETY: 1. these cells were written above, with words that the claim makes ours, for the
        // reason given in `steal`.
        unsafe { reserved.publish(count) };
        // SAFETY: 1. and 2. as in `steal`; these words are in no cell of the destination.
        let first = first.map(|words| unsafe { H::Element::from_words(words) });
        Steal::Success((count, first))
    }

    /// Claims the elements of the batch from a LIFO deque: the first one alone unless the deque is
    /// open, and then as many at once as an exchange may. Ends early if there are none left, if
    /// another thread is faster, or if a fence is needed again.
    fn take_in_claims<D>(
        &self,
        destination: &Worker<D>,
        mut top: Top,
        mut available: usize,
        wanted: usize,
        pops: bool,
    ) -> Steal<(usize, Option<H::Element>)>
    where
        D: Handle<Element = H::Element>,
    {
        let popped = usize::from(pops);
        let reserved = destination.reserve(wanted - popped);
        let wanted = reserved.room + popped;
        // Until the end of the loop no code of the user runs, which might push to the destination.
        let mut newest = None;
        let mut taken = 0;
        while taken < wanted {
            let left = (wanted - taken).min(available);
            let count = match top.mode() {
                Mode::Open => left.min(MAX_CLAIM),
                _ => 1,
            };
            let buffer = self.deque.shared.storage.buffer();
            let words = |number| buffer.slot(top.position().plus(number)).load();
            // The element held back so far is written now; the last of these is held back instead.
            let held_back = newest;
            for number in 0..count {
                let older = if pops {
                    newest.replace(words(number))
                } else {
                    Some(words(number))
                };
                if let Some(older) = older {
                    reserved.write(taken + number - popped, older);
                }
            }
            let claim = if top.mode() == Mode::Fenced && left > 1 {
                self.deque.top.claim_and_open(top)
            } else {
                self.deque.top.claim(top, count)
            };
            if claim.is_err() {
                newest = held_back;
                break;
            }
            taken += count;
            if taken == wanted {
                break;
            }
            match self.observe_unless_revoked() {
                Some((next, there @ 1..)) => (top, available) = (next, there),
                _ => break,
            }
        }
        if taken == 0 {
            return if wanted == 0 {
                Steal::Empty
            } else {
                Steal::Retry
            };
        }
        let count = taken - popped;
        if destination.deque().order() == Order::Fifo {
            reserved.reverse(count);
        }
        // SAFETY: 1. these cells were written above, with words that the claims made ours, for the
        // reason given in `steal`.
        unsafe { reserved.publish(count) };
        // SAFETY: 1. and 2. as in `steal`; these words are in no cell of the destination.
        let newest = newest.map(|words| unsafe { H::Element::from_words(words) });
        Steal::Success((count, newest))
    }
}
