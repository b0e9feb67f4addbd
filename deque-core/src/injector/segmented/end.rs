//! One end of the queue.

use core::ptr;

use super::block::Block;
use crate::{
    element::Element,
    primitive::{AtomicPtr, AtomicUsize, Ordering},
};

/// One end of the queue: an index, and the block that it points into.
pub(super) struct End<T: Element> {
    pub(super) index: AtomicUsize,
    pub(super) block: AtomicPtr<Block<T>>,
}

impl<T: Element> End<T> {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self { index: AtomicUsize::new(0), block: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Returns the index, and the block that it points into, or a later one.
    ///
    /// An exchange that finds the index unchanged confirms the block: that of a lap is only
    /// replaced while the index stands at the lap's end.
    #[inline]
    pub(super) fn load(&self) -> (usize, *mut Block<T>) {
        // Ordering: Acquire pairs with the Release of `link`: with the first index of a lap comes
        // its block.
        let index = self.index.load(Ordering::Acquire);
        (index, self.load_block())
    }

    /// Returns the block of an index that was read before.
    #[inline]
    pub(super) fn load_block(&self) -> *mut Block<T> {
        // Ordering: Acquire, so that the block's memory is initialized for us.
        self.block.load(Ordering::Acquire)
    }

    /// Moves from the last cell of a lap, which the caller has claimed, to the next lap.
    pub(super) fn link(&self, last: usize, block: *mut Block<T>) {
        // Ordering: Relaxed, the index publishes it. A thread that sees the block and an older
        // index loses its exchange on the index, and does not use the block.
        self.block.store(block, Ordering::Relaxed);
        // Ordering: Release, after the block: a thread that sees an index of the new lap sees its
        // block, and the block's memory.
        self.index.store(last.wrapping_add(2), Ordering::Release);
    }
}
