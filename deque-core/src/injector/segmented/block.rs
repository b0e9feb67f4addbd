//! The blocks of the segmented queue, which the thread that takes the last element frees.

#[cfg(not(loom))]
use alloc::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use alloc::boxed::Box;
#[cfg(loom)]
use core::ptr;

use crate::{
    element::{Element, Slot, SlotOf},
    primitive::{AtomicBool, AtomicPtr, AtomicUsize, Backoff, Ordering, Tracked},
};

/// Indices in a block's lap. A power of two, so that laps survive the wrap-around of indices.
pub(super) const LAP: usize = if cfg!(any(loom, miri)) { 4 } else { 64 };
/// Cells in a block. The last index of a lap has none: while an end stands there, the next block is
/// being linked.
pub(super) const BLOCK: usize = LAP - 1;

/// The cells of one lap.
pub(super) struct Block<T: Element> {
    next: AtomicPtr<Block<T>>,
    /// How many elements were taken and read. The thread that makes it [`BLOCK`] frees the block.
    consumed: AtomicUsize,
    /// The block's memory, which is freed after the last use by any thread.
    pub(super) memory: Tracked,
    pub(super) entries: [Entry<T>; BLOCK],
}

/// One cell, and whether it is full.
pub(super) struct Entry<T: Element> {
    full: AtomicBool,
    /// The words of the cell, which the producer writes and then the consumer reads.
    words: Tracked,
    slot: SlotOf<T>,
}

impl<T: Element> Block<T> {
    /// Allocates an empty block, which is nothing but zeroes. Not by way of the stack, for which a
    /// block of large elements is too large.
    #[cfg(not(loom))]
    pub(super) fn allocate() -> Box<Self> {
        let layout = Layout::new::<Self>();
        // SAFETY: the layout is not empty: there is a pointer in the block.
        let block = unsafe { alloc_zeroed(layout) }.cast::<Self>();
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: the memory has the layout of a block. Zeroes are a null link, a count of zero,
        // flags that are not set, and vacant slots, which are atomic pointers.
        unsafe { Box::from_raw(block) }
    }

    /// Allocates an empty block.
    #[cfg(loom)]
    pub(super) fn allocate() -> Box<Self> {
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

    /// Links the next block, for the consumer of the last cell.
    pub(super) fn set_next(&self, next: *mut Self) {
        // Ordering: Release publishes the new block to the consumer that follows the link.
        self.next.store(next, Ordering::Release);
    }

    /// Waits for the link to the next block, and returns it. Only the consumer of the last cell
    /// calls this.
    pub(super) fn wait_for_next(&self) -> *mut Self {
        let backoff = Backoff::new();
        loop {
            // Ordering: Acquire pairs with the Release in `set_next`.
            let block = self.next.load(Ordering::Acquire);
            if !block.is_null() {
                return block;
            }
            // Liveness: the producer that claimed the block's last cell has only to store the link.
            backoff.snooze();
        }
    }

    /// Counts elements of a block as taken and read, and frees the block if they were the last.
    ///
    /// # Safety
    /// 1. The caller has claimed this many elements of the block, has read their words, and does
    ///    not use the block any more.
    pub(super) unsafe fn consume(block: *mut Self, count: usize) {
        // Ordering: Release keeps our reads before the free; Acquire, for the thread that frees,
        // receives those of all others.
        // SAFETY: by obligation 1 the block lives until we have counted; it is our last access
        // unless we are the last consumer.
        let before = unsafe { &(*block).consumed }.fetch_add(count, Ordering::AcqRel);
        if before + count == BLOCK {
            // SAFETY: as above.
            unsafe { &(*block).memory }.note_change();
            // SAFETY: the block came from a box. All its elements are consumed, so every producer
            // and every consumer has made its last access, and both ends have left it: the
            // consumer of the last cell moved the head on before it counted itself.
            drop(unsafe { Box::from_raw(block) });
        }
    }
}

impl<T: Element> Entry<T> {
    /// Fills the cell. From then on a consumer may free the block: hence the pointer.
    ///
    /// # Safety
    /// 1. The caller has claimed the cell, and has not filled it yet, so the block is valid.
    #[inline]
    pub(super) unsafe fn fill(this: *const Self, words: T::Words) {
        // SAFETY: by obligation 1 the entry is valid until `full` is stored, which comes last.
        let this = unsafe { &*this };
        this.words.note_change();
        this.slot.store(words);
        // Ordering: Release publishes the words and what they refer to. It is also the producer's
        // last access to the block, which its consumer may free from now on.
        this.full.store(true, Ordering::Release);
    }

    /// Waits until the cell, which the caller has claimed, is full, and returns its words.
    pub(super) fn wait_for_words(&self) -> T::Words {
        let backoff = Backoff::new();
        // Ordering: Acquire pairs with the Release in `fill`.
        while !self.full.load(Ordering::Acquire) {
            // Liveness: the producer has claimed this cell and has only to write it.
            backoff.snooze();
        }
        self.words.note_use();
        self.slot.load()
    }
}
