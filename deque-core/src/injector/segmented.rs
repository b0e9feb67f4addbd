//! The unbounded queue: many producers, many consumers, elements in blocks.

use alloc::boxed::Box;
use core::{
    fmt,
    marker::PhantomData,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr,
};

use crossbeam_utils::CachePadded;

use crate::{
    element::{Element, drop_all},
    primitive::{AtomicUsize, Backoff, Ordering},
    steal::Steal,
};

mod batch;
mod block;
mod end;
#[cfg(test)]
mod tests;

use block::{BLOCK, Block, Entry, LAP};
use end::End;

/// A first-in first-out queue of unbounded length that any thread may push to and steal from.
///
/// Elements are kept in blocks of 63. The thread that takes the last element of a block frees it,
/// so there is no epoch and no garbage. The queue makes one allocation for 63 elements, and none
/// while it is new.
///
/// A push or a steal is one compare-exchange on an index, which fails only when another
/// succeeded, and a write to a cell. No lock is taken. Two short waits remain, both for a thread
/// that has already claimed its cell: a steal waits until the push of its element has
/// written it, and at the end of a block one thread links the next.
///
/// # Examples
/// ```
/// use deque_core::{Injector, Steal};
///
/// static QUEUE: Injector<Box<&str>> = Injector::new();
///
/// QUEUE.push(Box::new("first"));
/// QUEUE.push(Box::new("second"));
/// assert_eq!(QUEUE.steal(), Steal::Success(Box::new("first")));
/// assert_eq!(QUEUE.len(), 1);
/// ```
pub struct Injector<T: Element> {
    head: CachePadded<Head<T>>,
    tail: CachePadded<End<T>>,
    elements: PhantomData<T>,
}

/// The end that is stolen from.
struct Head<T: Element> {
    end: End<T>,
    /// Where the tail was when a consumer last read it. As long as the head is before it, no
    /// consumer reads the tail again, whose cache line the producers write all the time.
    known_tail: AtomicUsize,
}

// SAFETY: elements move between threads, hence `T: Send`; none is shared.
unsafe impl<T: Element + Send> Send for Injector<T> {}
// SAFETY: as above.
unsafe impl<T: Element + Send> Sync for Injector<T> {}

// No operation leaves the queue between two states when it unwinds: elements are taken apart before
// anything is written.
impl<T: Element> UnwindSafe for Injector<T> {}
impl<T: Element> RefUnwindSafe for Injector<T> {}

impl<T: Element> Injector<T> {
    const_unless_loom! {
        /// Creates an empty queue.
        ///
        /// # Examples
        /// ```
        /// use deque_core::Injector;
        ///
        /// static QUEUE: Injector<usize> = Injector::new();
        /// assert!(QUEUE.is_empty());
        /// ```
        #[must_use]
        pub fn new() -> Self {
            Self {
                head: CachePadded::new(Head { end: End::new(), known_tail: AtomicUsize::new(0) }),
                tail: CachePadded::new(End::new()),
                elements: PhantomData,
            }
        }
    }

    /// Starts counting near `index` instead of 0, so that a test meets the wrap-around.
    ///
    /// # Panics
    /// If the queue is not new.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Injector, Steal};
    ///
    /// let queue = Injector::new().starting_at(usize::MAX);
    /// (0..100).for_each(|job| queue.push(job));
    /// assert_eq!((queue.len(), queue.steal()), (100, Steal::Success(0)));
    /// ```
    #[must_use]
    pub fn starting_at(self, index: usize) -> Self {
        // Ordering: Relaxed here and below, the queue is not shared yet.
        assert!(
            self.tail.block.load(Ordering::Relaxed).is_null(),
            "only a new queue can start elsewhere"
        );
        let index = index - index % LAP;
        self.head.end.index.store(index, Ordering::Relaxed);
        self.head.known_tail.store(index, Ordering::Relaxed);
        self.tail.index.store(index, Ordering::Relaxed);
        self
    }

    /// Adds an element at the back.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Injector;
    ///
    /// let queue = Injector::new();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| queue.push(1));
    ///     scope.spawn(|| queue.push(2));
    /// });
    /// assert_eq!(queue.len(), 2);
    /// ```
    pub fn push(&self, element: T) {
        // Before a cell is claimed: this is code of the element's type, which may panic or use the
        // queue, and a claimed cell that stays empty keeps its consumer waiting.
        let words = element.into_words();
        let mut next = None;
        let backoff = Backoff::new();
        let (mut index, mut block) = self.tail.load();
        loop {
            let offset = index % LAP;
            if offset == BLOCK {
                // Liveness: the thread that claimed the last cell is between two stores.
                backoff.snooze();
                (index, block) = self.tail.load();
                continue;
            }
            if block.is_null() {
                block = self.first_block();
            }
            if offset + 1 == BLOCK && next.is_none() {
                next = Some(Block::allocate());
            }
            // Ordering: Relaxed if it succeeds. The exchange only deals out indices; the element is
            // published by `fill`, blocks by `link`, whose release sequence this exchange
            // continues. Acquire if it fails, as in `End::load`.
            if let Err(now) = self.tail.index.compare_exchange_weak(
                index,
                index + 1,
                Ordering::Relaxed,
                Ordering::Acquire,
            ) {
                // Other producers were faster. A longer pause lets more of them finish. We do not
                // read the index again after the pause. If they have pushed meanwhile, they are
                // probably still pushing, so the next exchange should fail and lengthen the next
                // pause.
                (index, block) = (now, self.tail.load_block());
                backoff.spin();
                continue;
            }
            // SAFETY: the index was current, so `block` is the block of its lap (it changes only
            // while the index stands at the lap's end), and it lives until its every element,
            // including ours, is consumed.
            let block = unsafe { &*block };
            block.memory.note_use();
            if offset + 1 == BLOCK {
                let next = Box::into_raw(next.take().expect("allocated above"));
                self.tail.link(index, next);
                block.set_next(next);
            }
            // SAFETY: 1. the index was ours alone.
            unsafe { Entry::fill(&raw const block.entries[offset], words) };
            return;
        }
    }

    #[cold]
    fn first_block(&self) -> *mut Block<T> {
        let new = Box::into_raw(Block::allocate());
        // Ordering: Release publishes the block; Acquire, if another producer was faster, receives
        // its.
        match self.tail.block.compare_exchange(
            ptr::null_mut(),
            new,
            Ordering::Release,
            Ordering::Acquire,
        ) {
            Ok(_) => {
                // Ordering: Release, as above, for consumers.
                self.head.end.block.store(new, Ordering::Release);
                new
            }
            Err(block) => {
                // SAFETY: it was not published.
                drop(unsafe { Box::from_raw(new) });
                block
            }
        }
    }

    /// Takes the element at the front.
    ///
    /// `Retry` means that another thread took one at the same time, or is linking a block.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Injector, Steal};
    ///
    /// let queue = Injector::new();
    /// queue.push(1);
    /// assert_eq!(queue.steal(), Steal::Success(1));
    /// assert_eq!(queue.steal(), Steal::Empty);
    /// ```
    pub fn steal(&self) -> Steal<T> {
        let head = &self.head.end;
        // Ordering: Acquire pairs with the Release of `link` (with the first index of a lap comes
        // its block) and with the compare-exchange below (`tail` is at least what earlier consumers
        // saw, so that it is never behind `head`).
        let index = head.index.load(Ordering::Acquire);
        let offset = index % LAP;
        if offset == BLOCK {
            return Steal::Retry;
        }
        if !self.is_before_tail(index) {
            return Steal::Empty;
        }
        // Ordering: Acquire, so that the block's memory is initialized for us.
        let block = head.block.load(Ordering::Acquire);
        if block.is_null() {
            // The first producer is between its two stores.
            return Steal::Retry;
        }
        // Ordering: Relaxed, for speed alone. Another consumer was faster, and an exchange that
        // fails would take the cache line away from those that read it. Models do without: it adds
        // nothing but a `Retry`.
        if !cfg!(loom) && head.index.load(Ordering::Relaxed) != index {
            return Steal::Retry;
        }
        // Ordering: Release passes on the tail index that we have seen, see above.
        if head
            .index
            .compare_exchange(index, index + 1, Ordering::Release, Ordering::Relaxed)
            .is_err()
        {
            return Steal::Retry;
        }
        // SAFETY: the index was current, so `block` is the block of its lap, and it lives until
        // we count our element as consumed.
        let (entries, memory) = unsafe { (&(*block).entries, &(*block).memory) };
        memory.note_use();
        if offset + 1 == BLOCK {
            // SAFETY: as above.
            head.link(index, unsafe { &*block }.wait_for_next());
        }
        let words = entries[offset].wait_for_words();
        // SAFETY: 1. the words of one element of this block were read, and `entries` is used no
        // more.
        unsafe { Block::consume(block, 1) };
        // SAFETY: 1. the words are whole, since the cell was full; 2. the index was ours alone.
        Steal::Success(unsafe { T::from_words(words) })
    }

    /// Whether there is an element at `index`, which was the head's.
    #[inline]
    fn is_before_tail(&self, index: usize) -> bool {
        // Ordering: Acquire pairs with the exchange below: `tail` is at least what the thread that
        // wrote this saw, for us and for those that follow us.
        let known = self.head.known_tail.load(Ordering::Acquire);
        if known.wrapping_sub(index).cast_signed() > 0 {
            return true;
        }
        // Ordering: Relaxed. The head's index and `known_tail` make sure that it is not older than
        // what others saw; what was pushed is published by `fill`, and blocks by their pointers.
        let tail = self.tail.index.load(Ordering::Relaxed);
        if tail == index {
            return false;
        }
        // An exchange, not a store: a store that is delayed for half the range of the index would
        // be taken for a tail ahead of the head. On 32 bits that takes minutes. If the exchange
        // fails, another consumer has stored a newer tail.
        //
        // Ordering: Release, as above.
        let _ = self.head.known_tail.compare_exchange(
            known,
            tail,
            Ordering::Release,
            Ordering::Relaxed,
        );
        true
    }

    /// Returns the number of elements at about the time of the call.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Injector;
    ///
    /// let queue = Injector::new();
    /// (0..100).for_each(|job| queue.push(job));
    /// assert_eq!(queue.len(), 100);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // Ordering: Relaxed, see `is_empty`.
        let head = self.head.end.index.load(Ordering::Relaxed);
        let tail = self.tail.index.load(Ordering::Relaxed);
        Self::count(head, tail)
    }

    /// Returns how many elements there are from one index to another.
    fn count(head: usize, tail: usize) -> usize {
        let indices = tail.wrapping_sub(head);
        if indices.cast_signed() <= 0 {
            return 0;
        }
        let lap_ends = (head % LAP + indices) / LAP;
        indices - lap_ends
    }

    /// Whether there was no element at some moment during the call.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Injector;
    ///
    /// let queue = Injector::new();
    /// assert!(queue.is_empty());
    /// queue.push(1);
    /// assert!(!queue.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Ordering: Acquire pairs with the exchange of a steal: the tail is at least what that
        // consumer saw. With less it could be an older one, which stands where the head does now,
        // although another element came before the last one was stolen.
        let head = self.head.end.index.load(Ordering::Acquire);
        // Ordering: Relaxed. The tail is beyond the head as long as an element is there; a caller
        // that must see a certain push fences before.
        let tail = self.tail.index.load(Ordering::Relaxed);
        // The second case is an end of a lap between the two, which holds no element.
        head == tail || Self::count(head, tail) == 0
    }
}

impl<T: Element> Drop for Injector<T> {
    fn drop(&mut self) {
        // Dropped after the elements, also if a destructor panics.
        let _last_block = LastBlock(self);
        drop_all(|| self.steal().success());
    }
}

/// Frees the last block of a queue that is dropped and empty.
struct LastBlock<'a, T: Element>(&'a Injector<T>);

impl<T: Element> Drop for LastBlock<'_, T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, no other thread can access the queue any more.
        let block = self.0.tail.block.load(Ordering::Relaxed);
        if !block.is_null() {
            // SAFETY: the last block came from a box; every other one was freed by the steal of
            // its last element, and this one's last cell was never claimed (its claim would have
            // linked a successor).
            drop(unsafe { Box::from_raw(block) });
        }
    }
}

impl<T: Element> Default for Injector<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Element> fmt::Debug for Injector<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
