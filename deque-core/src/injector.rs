//! The queue for work from outside: many producers, many consumers, unbounded.

use alloc::boxed::Box;
use core::{
    fmt,
    marker::PhantomData,
    panic::{RefUnwindSafe, UnwindSafe},
    ptr,
};

use crossbeam_utils::CachePadded;

use crate::{
    element::{Element, Slot, SlotOf, drop_all},
    primitive::{AtomicBool, AtomicPtr, AtomicUsize, Backoff, Ordering, Tracked},
    steal::Steal,
};

mod batch;
#[cfg(test)]
mod tests;

/// Positions in a block's lap. A power of two, so that laps survive the wrap-around of indices.
const LAP: usize = if cfg!(any(loom, miri)) { 4 } else { 64 };
/// Slots in a block. The last position of a lap has none: while an index stands there, the next
/// block is being linked.
const BLOCK: usize = LAP - 1;

/// A first-in first-out queue of unbounded length that any thread may push to and steal from.
///
/// Elements are kept in blocks of 63, each freed by whoever takes its last element; there is no
/// epoch and no garbage. One allocation for 63 elements, none while the queue is empty and new.
///
/// A push or a steal is one compare-exchange on an index, which fails only when another
/// succeeded, and a write to a slot. No lock is taken. Two short waits remain, both for a thread
/// that has already claimed its place: a steal waits for the push of its element to finish
/// writing, and at the end of a block one thread links the next.
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
    /// Where the tail was when a consumer last looked. As long as the head is before it, nobody need
    /// look at the tail again, whose cache line the producers write all the time.
    known_tail: AtomicUsize,
}

/// One end of the queue: an index, and the block that it points into.
struct End<T: Element> {
    index: AtomicUsize,
    block: AtomicPtr<Block<T>>,
}

struct Block<T: Element> {
    next: AtomicPtr<Block<T>>,
    /// How many elements were taken and read; the thread that makes it [`BLOCK`] frees the block.
    consumed: AtomicUsize,
    /// The block's memory, which is freed when all have made their last use of it.
    memory: Tracked,
    entries: [Entry<T>; BLOCK],
}

struct Entry<T: Element> {
    full: AtomicBool,
    /// The words of the slot, which the pusher writes and then the consumer reads.
    words: Tracked,
    slot: SlotOf<T>,
}

// SAFETY: elements move between threads, hence `T: Send`; none is shared.
unsafe impl<T: Element + Send> Send for Injector<T> {}
// SAFETY: as above.
unsafe impl<T: Element + Send> Sync for Injector<T> {}

// No operation leaves the queue between two states when it unwinds: elements are taken apart before
// anything is written.
impl<T: Element> UnwindSafe for Injector<T> {}
impl<T: Element> RefUnwindSafe for Injector<T> {}

impl<T: Element> Block<T> {
    /// Nothing but zeroes, so the compiler asks the allocator for those.
    #[cfg(not(loom))]
    #[allow(clippy::declare_interior_mutable_const)]
    const EMPTY: Self = Self {
        next: AtomicPtr::new(ptr::null_mut()),
        consumed: AtomicUsize::new(0),
        memory: Tracked::new(),
        entries: [const {
            Entry {
                full: AtomicBool::new(false),
                words: Tracked::new(),
                slot: SlotOf::<T>::VACANT,
            }
        }; BLOCK],
    };

    #[cfg(not(loom))]
    fn allocate() -> Box<Self> {
        Box::new(Self::EMPTY)
    }

    #[cfg(loom)]
    fn allocate() -> Box<Self> {
        Box::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            consumed: AtomicUsize::new(0),
            memory: Tracked::new(),
            entries: core::array::from_fn(|_| Entry {
                full: AtomicBool::new(false),
                words: Tracked::new(),
                slot: SlotOf::<T>::vacant(),
            }),
        })
    }
}

impl<T: Element> Entry<T> {
    /// The words of an element that the caller has claimed, when they are written.
    fn wait_for_words(&self) -> T::Words {
        let backoff = Backoff::new();
        // Ordering: Acquire pairs with the Release in `push`.
        while !self.full.load(Ordering::Acquire) {
            // Liveness: the pusher has claimed this slot and has only to write it.
            backoff.snooze();
        }
        self.words.note_use();
        self.slot.load()
    }
}

impl<T: Element> Injector<T> {
    const_unless_loom! {
        /// An empty queue.
        #[must_use]
        pub fn new() -> Self {
            Self {
                head: CachePadded::new(Head { end: End::new(), known_tail: AtomicUsize::new(0) }),
                tail: CachePadded::new(End::new()),
                elements: PhantomData,
            }
        }
    }

    /// Starts counting at about `index` instead of 0, so that a test meets the wrap-around.
    ///
    /// # Panics
    /// If the queue is not new.
    #[must_use]
    pub fn starting_at(self, index: usize) -> Self {
        // Ordering: Relaxed here and below, the queue is not shared yet.
        assert!(
            self.tail.block.load(Ordering::Relaxed).is_null(),
            "only a new queue can"
        );
        let index = index - index % LAP;
        self.head.end.index.store(index, Ordering::Relaxed);
        self.head.known_tail.store(index, Ordering::Relaxed);
        self.tail.index.store(index, Ordering::Relaxed);
        self
    }

    /// Adds an element at the back.
    pub fn push(&self, element: T) {
        // Before a slot is claimed: this is code of the element's type, which may panic or use the
        // queue, and a claimed slot that stays empty keeps its consumer waiting.
        let words = element.into_words();
        let mut next = None;
        let backoff = Backoff::new();
        loop {
            // Ordering: Acquire pairs with the Release of `link`: with the first index of a lap
            // comes its block.
            let index = self.tail.index.load(Ordering::Acquire);
            let offset = index % LAP;
            if offset == BLOCK {
                // Liveness: the thread that claimed the last slot is between two stores.
                backoff.snooze();
                continue;
            }
            // Ordering: Acquire, so that the block's memory is initialised for us.
            let mut block = self.tail.block.load(Ordering::Acquire);
            if block.is_null() {
                block = self.first_block();
            }
            if offset + 1 == BLOCK && next.is_none() {
                next = Some(Block::allocate());
            }
            // Ordering: Relaxed. The exchange only deals out indices; the element is published by
            // `full`, blocks by `link`, whose release sequence this exchange continues.
            if self
                .tail
                .index
                .compare_exchange_weak(index, index + 1, Ordering::Relaxed, Ordering::Relaxed)
                .is_err()
            {
                // Others were faster. The longer we stay away, the more of theirs go in meanwhile.
                backoff.spin();
                continue;
            }
            // SAFETY: the index was current, so `block` is the block of its lap (it changes only
            // while the index stands at the lap's end), and it lives until its every element,
            // ours included, is consumed.
            let block = unsafe { &*block };
            block.memory.note_use();
            if offset + 1 == BLOCK {
                let next = Box::into_raw(next.take().expect("allocated above"));
                self.tail.link(index, next);
                // Ordering: Release publishes the new block to the consumer that follows the link.
                block.next.store(next, Ordering::Release);
            }
            let entry = &block.entries[offset];
            entry.words.note_change();
            entry.slot.store(words);
            // Ordering: Release publishes the words and what they refer to. It is also our last
            // access to the block, which its consumer may free from now on.
            entry.full.store(true, Ordering::Release);
            return;
        }
    }

    #[cold]
    fn first_block(&self) -> *mut Block<T> {
        let new = Box::into_raw(Block::allocate());
        // Ordering: Release publishes the block; Acquire, if another was faster, receives its.
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
    pub fn steal(&self) -> Steal<T> {
        let head = &self.head.end;
        // Ordering: Acquire pairs with the Release of `link` (with the first index of a lap comes
        // its block) and with the compare-exchange below (`tail` is at least what those before us
        // saw, so that it is never behind `head`).
        let index = head.index.load(Ordering::Acquire);
        let offset = index % LAP;
        if offset == BLOCK {
            return Steal::Retry;
        }
        if !self.is_before_tail(index) {
            return Steal::Empty;
        }
        // Ordering: Acquire, so that the block's memory is initialised for us.
        let block = head.block.load(Ordering::Acquire);
        if block.is_null() {
            // The first pusher is between its two stores.
            return Steal::Retry;
        }
        // Ordering: Release hands on the tail index that we have seen, see above.
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
            head.link(index, Self::wait_for_next(unsafe { &(*block).next }));
        }
        let words = entries[offset].wait_for_words();
        // SAFETY: 1. the words of one element of this block were read, and `entries` is used no more.
        unsafe { Self::consume(block, 1) };
        // SAFETY: 1. the words are whole, since the slot was full; 2. the index was ours alone.
        Steal::Success(unsafe { T::from_words(words) })
    }

    /// Counts elements of a block as taken and read, and frees the block if they were the last.
    ///
    /// # Safety
    /// 1. The caller has claimed so many elements of the block, has read their words, and does not use
    ///    the block any more.
    unsafe fn consume(block: *mut Block<T>, count: usize) {
        // Ordering: Release keeps our reads before the free; Acquire, for the thread that frees,
        // receives those of all others.
        // SAFETY: by obligation 1 the block lives until we have counted; it is our last access unless we
        // are the last consumer.
        let before = unsafe { &(*block).consumed }.fetch_add(count, Ordering::AcqRel);
        if before + count == BLOCK {
            // SAFETY: as above.
            unsafe { &(*block).memory }.note_change();
            // SAFETY: the block came from a box. All its elements are consumed, so every pusher
            // and every consumer has made its last access, and both ends have left it: the
            // consumer of the last slot moved the head on before it counted itself.
            drop(unsafe { Box::from_raw(block) });
        }
    }

    /// Whether there is an element at `index`, which was the head's.
    #[inline]
    fn is_before_tail(&self, index: usize) -> bool {
        // Ordering: Acquire pairs with the store below: `tail` is at least what whoever wrote this
        // saw, for us and for those who follow us.
        let known = self.head.known_tail.load(Ordering::Acquire);
        if known.wrapping_sub(index).cast_signed() > 0 {
            return true;
        }
        // Ordering: Relaxed. That it is not older than what others saw comes with the head's index and
        // with `known_tail`; what was pushed is published by `full`, and blocks by their pointers.
        let tail = self.tail.index.load(Ordering::Relaxed);
        if tail == index {
            return false;
        }
        // An exchange, so that it does not come when others have gone on for half the range of the
        // index, and mean the future: on 32 bits that is minutes. If it fails, somebody knows more.
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

    fn wait_for_next(next: &AtomicPtr<Block<T>>) -> *mut Block<T> {
        let backoff = Backoff::new();
        loop {
            // Ordering: Acquire pairs with the Release in `push`.
            let block = next.load(Ordering::Acquire);
            if !block.is_null() {
                return block;
            }
            // Liveness: the pusher that claimed the block's last slot has only to store the link.
            backoff.snooze();
        }
    }

    /// How many elements there were at about the time of the call.
    #[must_use]
    pub fn len(&self) -> usize {
        // Ordering: Relaxed, see `is_empty`.
        let head = self.head.end.index.load(Ordering::Relaxed);
        let tail = self.tail.index.load(Ordering::Relaxed);
        Self::count(head, tail)
    }

    /// How many elements there are from one index to another.
    fn count(head: usize, tail: usize) -> usize {
        let positions = tail.wrapping_sub(head);
        if positions.cast_signed() <= 0 {
            return 0;
        }
        let lap_ends = (head % LAP + positions) / LAP;
        positions - lap_ends
    }

    /// True if there was no element at some moment during the call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // Ordering: Relaxed. The indices differ as long as an element is there, whichever is read
        // first; a caller that must see a certain push fences before.
        self.head.end.index.load(Ordering::Relaxed) == self.tail.index.load(Ordering::Relaxed)
    }
}

impl<T: Element> End<T> {
    const_unless_loom! {
        fn new() -> Self {
            Self { index: AtomicUsize::new(0), block: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Goes from the last slot of a lap, which the caller has claimed, to the next lap.
    fn link(&self, last: usize, block: *mut Block<T>) {
        // Ordering: Relaxed, the index publishes it. A thread that sees the block and an older index loses
        // its exchange on the index, and does not use the block.
        self.block.store(block, Ordering::Relaxed);
        // Ordering: Release, after the block: a thread that sees an index of the new lap sees its block,
        // and the block's memory.
        self.index.store(last.wrapping_add(2), Ordering::Release);
    }
}

impl<T: Element> Drop for Injector<T> {
    fn drop(&mut self) {
        // After the elements, also if a destructor panics.
        let _last_block = LastBlock(self);
        drop_all(|| self.steal().success());
    }
}

/// Frees the last block of a queue that is dropped and empty.
struct LastBlock<'a, T: Element>(&'a Injector<T>);

impl<T: Element> Drop for LastBlock<'_, T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, no other thread has the queue any more.
        let block = self.0.tail.block.load(Ordering::Relaxed);
        if !block.is_null() {
            // SAFETY: the last block came from a box; every other one was freed by the steal of
            // its last element, and this one's last slot was never claimed (its claim would have
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
