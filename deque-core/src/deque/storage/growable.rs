//! A ring that grows and shrinks.

use alloc::boxed::Box;
use core::{cell::Cell, fmt, ptr};

use super::{Buffer, Position, Storage};
use crate::{
    element::{Element, Slot, SlotOf},
    primitive::{AtomicPtr, Ordering},
};

#[cfg(all(test, not(loom)))]
mod tests;

/// Cells on the heap. Their number doubles when there is no room, and falls when the owner
/// [shrinks](crate::Worker::shrink_to) them.
///
/// A thief may still read a ring that was replaced. So the ring is kept until the owner
/// [takes](crate::Worker::take_replaced) it away or the deque is dropped. Together, all rings that
/// the deque has outgrown since it last shrank are smaller than the newest ring.
///
/// # Examples
/// ```
/// use deque_core::{Deque, Growable, Order};
///
/// let deque: Deque<usize, Growable<usize>> = Deque::growable(Order::Lifo);
/// let worker = deque.worker()?;
/// (0..1000).for_each(|job| worker.push(job));
/// assert_eq!(deque.len(), 1000);
/// # Ok::<(), deque_core::AlreadyOwned>(())
/// ```
pub struct Growable<T: Element> {
    ring: AtomicPtr<Ring<T>>,
}

impl<T: Element> fmt::Debug for Growable<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Growable").finish_non_exhaustive()
    }
}

struct Ring<T: Element> {
    slots: Box<[SlotOf<T>]>,
    /// The ring that this one replaced, unless it was taken away; only the owner reads it.
    replaced: Cell<*mut Ring<T>>,
}

impl<T: Element> Growable<T> {
    const FIRST_CAPACITY: usize = if cfg!(any(loom, miri)) { 2 } else { 64 };

    const_unless_loom! {
        /// Creates a storage without cells.
        pub(in crate::deque) fn new() -> Self {
            Self { ring: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Returns the capacity to which a ring of this capacity grows.
    ///
    /// # Panics
    /// If this ring has [`MOST_ELEMENTS`](Position::MOST_ELEMENTS) cells already. On 64 bits only
    /// cells without memory can be so many.
    fn capacity_after(capacity: usize) -> usize {
        assert!(capacity < Position::MOST_ELEMENTS, "capacity overflow");
        (2 * capacity).max(Self::FIRST_CAPACITY)
    }

    /// Replaces the ring by one of another capacity, with the elements from the position `top` to
    /// `bottom`.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this, and not within another operation.
    /// 2. There are at most `capacity` such elements, and `capacity` is a power of two.
    unsafe fn replace(&self, top: Position, bottom: Position, capacity: usize) {
        let old = self.buffer();
        let slots: Box<[SlotOf<T>]> = (0..capacity).map(|_| SlotOf::<T>::vacant()).collect();
        let new: Buffer<'_, T> = Buffer { slots: &slots };
        let mut next = top;
        while next != bottom {
            new.slot(next).store(old.slot(next).load());
            next = next.plus(1);
        }
        // Ordering: Relaxed, only the owner writes it (obligation 1).
        let replaced = self.ring.load(Ordering::Relaxed);
        let replaced = Cell::new(replaced);
        let ring = Box::into_raw(Box::new(Ring { slots, replaced }));
        // Ordering: Release publishes the copied elements to thieves (`buffer`).
        self.ring.store(ring, Ordering::Release);
    }
}

impl<T: Element> Storage<T> for Growable<T> {
    fn buffer(&self) -> Buffer<'_, T> {
        // Ordering: Acquire pairs with `replace`: a ring is read only when its cells are filled.
        let ring = self.ring.load(Ordering::Acquire);
        // SAFETY: the pointer is null or a ring that lives as long as `self`, and after it was
        // published only its cells change, which are atomic.
        let slots = unsafe { ring.as_ref() }.map_or(&[][..], |ring: &Ring<T>| &*ring.slots);
        Buffer { slots }
    }

    #[cold]
    unsafe fn grow(&self, top: Position, bottom: Position) -> Option<Buffer<'_, T>> {
        let capacity = Self::capacity_after(self.buffer().slots.len());
        // SAFETY: obligation 1 is forwarded to our caller; 2. the elements fitted into half of the
        // new ring.
        unsafe { self.replace(top, bottom, capacity) };
        Some(self.buffer())
    }

    unsafe fn shrink(&self, top: Position, bottom: Position, least: usize) -> bool {
        let capacity = self.buffer().slots.len();
        let used = top.count_to(bottom);
        if used > capacity / 4 {
            return false;
        }
        // Twice the room that is in use: the deque must double before it grows again, and halve
        // before it shrinks again.
        let smaller = (2 * used)
            .max(least)
            .max(Self::FIRST_CAPACITY)
            .next_power_of_two();
        if smaller >= capacity {
            return false;
        }
        // SAFETY: obligation 1 is forwarded to our caller; 2. `smaller` is at least twice what is
        // in use.
        unsafe { self.replace(top, bottom, smaller) };
        true
    }

    const REPLACES: bool = true;

    type Replaced = ReplacedRings<T>;

    unsafe fn take_replaced(&self) -> Option<ReplacedRings<T>> {
        // Ordering: Relaxed, only the owner writes it (obligation 1).
        let ring = self.ring.load(Ordering::Relaxed);
        // SAFETY: null, or the newest ring, which lives as long as `self`.
        let newest = unsafe { ring.as_ref() }?.replaced.replace(ptr::null_mut());
        (!newest.is_null()).then_some(ReplacedRings { newest })
    }
}

impl<T: Element> Drop for Growable<T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, no other thread can access the deque any more.
        let newest = self.ring.load(Ordering::Relaxed);
        drop(ReplacedRings { newest });
    }
}

/// Rings of a deque that were replaced; freed when this is dropped.
pub struct ReplacedRings<T: Element> {
    newest: *mut Ring<T>,
}

impl<T: Element> fmt::Debug for ReplacedRings<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplacedRings").finish_non_exhaustive()
    }
}

// SAFETY: the value has the rings for itself, apart from thieves that only read atomics. A ring
// does not own its elements.
unsafe impl<T: Element> Send for ReplacedRings<T> {}

impl<T: Element> Drop for ReplacedRings<T> {
    fn drop(&mut self) {
        while !self.newest.is_null() {
            // SAFETY: each ring came from a box and is in one list once. The caller of
            // `take_replaced`, or the deque's drop, has guaranteed that no thread reads it any
            // more.
            self.newest = unsafe { Box::from_raw(self.newest) }.replaced.get();
        }
    }
}
