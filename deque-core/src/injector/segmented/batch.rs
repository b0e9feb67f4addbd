//! Steals of several elements at once.

use super::{BLOCK, Block, Injector, LAP};
use crate::{
    batch::{self, MAX_BATCH},
    deque::{Handle, Order, Worker},
    element::Element,
    primitive::Ordering,
    steal::Steal,
};

impl<T: Element> Injector<T> {
    /// Steals half of the elements, rounded up, but at most 32 and only from one block, into the
    /// deque of a worker. Returns how many were stolen.
    ///
    /// The worker takes them in the order in which they were pushed here. One compare-exchange
    /// claims all of them. If the deque lacks room, fewer are stolen; if it is full, none
    /// ([`Steal::Empty`]).
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Injector, Steal, Worker};
    ///
    /// let (queue, worker) = (Injector::new(), Worker::new_lifo());
    /// (1..=4).for_each(|job| queue.push(job));
    /// assert_eq!(queue.steal_batch(&worker), Steal::Success(2));
    /// assert_eq!((worker.pop(), worker.pop()), (Some(1), Some(2)));
    /// ```
    pub fn steal_batch<D>(&self, destination: &Worker<D>) -> Steal<usize>
    where
        D: Handle<Element = T>,
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
    /// use deque_core::{Injector, Steal, Worker};
    ///
    /// let (queue, worker) = (Injector::new(), Worker::new_fifo());
    /// (1..=20).for_each(|job| queue.push(job));
    /// assert_eq!(queue.steal_batch_with_limit(&worker, 3), Steal::Success(3));
    /// assert_eq!(worker.pop(), Some(1));
    /// ```
    pub fn steal_batch_with_limit<D>(&self, destination: &Worker<D>, limit: usize) -> Steal<usize>
    where
        D: Handle<Element = T>,
    {
        self.take_batch(destination, limit, false)
            .map(|(count, _)| count)
    }

    /// Steals as [`steal_batch`](Self::steal_batch) does, but returns the first element of the
    /// batch and puts only the others into `destination`. So a full destination does not keep it
    /// from stealing one.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Injector, Steal, Worker};
    ///
    /// let (queue, worker) = (Injector::new(), Worker::new_fifo());
    /// (1..=6).for_each(|job| queue.push(job));
    /// assert_eq!(queue.steal_batch_and_pop(&worker), Steal::Success(1));
    /// assert_eq!((worker.pop(), worker.pop()), (Some(2), Some(3)));
    /// ```
    pub fn steal_batch_and_pop<D>(&self, destination: &Worker<D>) -> Steal<T>
    where
        D: Handle<Element = T>,
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
    /// use deque_core::{Injector, Steal, Worker};
    ///
    /// let (queue, worker) = (Injector::new(), Worker::new_fifo());
    /// (1..=6).for_each(|job| queue.push(job));
    /// assert_eq!(queue.steal_batch_with_limit_and_pop(&worker, 2), Steal::Success(1));
    /// assert_eq!((worker.pop(), worker.pop()), (Some(2), None));
    /// ```
    pub fn steal_batch_with_limit_and_pop<D>(
        &self,
        destination: &Worker<D>,
        limit: usize,
    ) -> Steal<T>
    where
        D: Handle<Element = T>,
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
    ) -> Steal<(usize, Option<T>)>
    where
        D: Handle<Element = T>,
    {
        batch::check_limit(limit);
        let head = &self.head.end;
        // Ordering: Acquire, as in `steal`.
        let index = head.index.load(Ordering::Acquire);
        let offset = index % LAP;
        if offset == BLOCK {
            return Steal::Retry;
        }
        // This also advances `known_tail`. If only batches were stolen, it would stay behind. After
        // half the range of the index, the next consumer would take it for a tail ahead of the
        // head. On 32 bits that takes minutes.
        if !self.is_before_tail(index) {
            return Steal::Empty;
        }
        // Ordering: Relaxed, as in `is_before_tail`.
        let tail = self.tail.index.load(Ordering::Relaxed);
        // Only from this block.
        let wanted = batch::size(Self::count(index, tail), limit).min(BLOCK - offset);
        if wanted == 0 {
            return Steal::Empty;
        }
        // Ordering: Acquire, so that the block's memory is initialized for us.
        let block = head.block.load(Ordering::Acquire);
        if block.is_null() {
            // The first producer is between its two stores.
            return Steal::Retry;
        }
        let popped = usize::from(pops);
        let reserved = destination.reserve(wanted - popped);
        let count = reserved.room;
        let taken = popped + count;
        if taken == 0 {
            return Steal::Empty;
        }
        // Ordering: Release passes on the tail index that we have seen, as in `steal`.
        if head
            .index
            .compare_exchange(index, index + taken, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            return Steal::Retry;
        }
        // SAFETY: the index was current, so `block` is the block of its lap, and it lives until
        // we count our elements as consumed.
        let (entries, memory) = unsafe { (&(*block).entries, &(*block).memory) };
        memory.note_use();
        if offset + taken == BLOCK {
            // SAFETY: as above.
            let next = unsafe { &*block }.wait_for_next();
            head.link(index + taken - 1, next);
        }
        let words = |number: usize| entries[offset + number].wait_for_words();
        let first = pops.then(|| words(0));
        for number in 0..count {
            reserved.write(number, words(popped + number));
        }
        // SAFETY: 1. the words of `taken` elements of this block were read; `entries` is used no
        // more.
        unsafe { Block::consume(block, taken) };
        if destination.deque().order() == Order::Lifo {
            reserved.reverse(count);
        }
        // SAFETY: 1. these cells were written above, with words that the exchange made ours.
        unsafe { reserved.publish(count) };
        // SAFETY: 1. the words are whole, since the cell was full; 2. the index was ours alone, and
        // these words are in no cell of the destination.
        let first = first.map(|words| unsafe { T::from_words(words) });
        Steal::Success((count, first))
    }
}
