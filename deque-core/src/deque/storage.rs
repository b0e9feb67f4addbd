//! Where a deque keeps its elements: a ring of slots, of fixed size or growing.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::convert::Infallible;
#[cfg(feature = "alloc")]
use core::{cell::Cell, ptr};

use super::top::index;
#[cfg(feature = "alloc")]
use super::top::{STEP, distance};
use crate::element::{Element, Slot, SlotOf};
#[cfg(feature = "alloc")]
use crate::primitive::{AtomicPtr, Ordering};

/// Where a [`Deque`](crate::Deque) keeps its elements: [`Fixed`] or `Growable`.
pub trait Storage<T: Element>: sealed::Sealed {
    /// The ring as it is now.
    #[doc(hidden)]
    fn buffer(&self) -> Buffer<'_, T>;

    /// Makes room beyond the elements from the position `top` to `bottom`, and gives the new ring. None if
    /// the storage cannot grow.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this.
    #[doc(hidden)]
    unsafe fn grow(&self, top: usize, bottom: usize) -> Option<Buffer<'_, T>>;

    /// Replaces the ring by a smaller one of at least `least` slots if at most a quarter of it is in
    /// use, by the elements from the position `top` to `bottom`. Returns whether.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this, and not within another operation.
    #[doc(hidden)]
    unsafe fn shrink(&self, top: usize, bottom: usize, least: usize) -> bool;

    /// Whether rings are ever replaced.
    const REPLACES: bool;

    /// Rings that were replaced; freed when this is dropped.
    type Replaced: Send;

    /// The rings that were replaced since the last call.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this.
    #[doc(hidden)]
    unsafe fn take_replaced(&self) -> Option<Self::Replaced>;
}

/// A ring of slots, whose number is a power of two or zero.
#[doc(hidden)]
pub struct Buffer<'a, T: Element> {
    pub(super) slots: &'a [SlotOf<T>],
}

impl<T: Element> Buffer<'_, T> {
    /// The slot of a position.
    ///
    /// # Panics
    /// If the ring has no slots at all; a deque that holds an element has some.
    pub(super) fn slot(&self, position: usize) -> &SlotOf<T> {
        &self.slots[index(position) & (self.slots.len() - 1)]
    }
}

/// A fixed number of slots within the deque itself.
pub struct Fixed<T: Element, const CAPACITY: usize> {
    slots: [SlotOf<T>; CAPACITY],
}

impl<T: Element, const CAPACITY: usize> Fixed<T, CAPACITY> {
    #[cfg(not(loom))]
    pub(super) const fn new() -> Self {
        const {
            assert!(
                CAPACITY.is_power_of_two(),
                "the capacity must be a power of two"
            )
        };
        Self {
            slots: [const { <SlotOf<T> as Slot>::VACANT }; CAPACITY],
        }
    }

    #[cfg(loom)]
    pub(super) fn new() -> Self {
        const {
            assert!(
                CAPACITY.is_power_of_two(),
                "the capacity must be a power of two"
            )
        };
        Self {
            slots: core::array::from_fn(|_| SlotOf::<T>::vacant()),
        }
    }
}

impl<T: Element, const CAPACITY: usize> Storage<T> for Fixed<T, CAPACITY> {
    #[inline]
    fn buffer(&self) -> Buffer<'_, T> {
        Buffer { slots: &self.slots }
    }

    unsafe fn grow(&self, _top: usize, _bottom: usize) -> Option<Buffer<'_, T>> {
        None
    }

    unsafe fn shrink(&self, _top: usize, _bottom: usize, _least: usize) -> bool {
        false
    }

    const REPLACES: bool = false;

    type Replaced = Infallible;

    unsafe fn take_replaced(&self) -> Option<Infallible> {
        None
    }
}

/// Slots on the heap, twice as many each time they do not suffice, and fewer when the owner
/// [shrinks](crate::Worker::shrink_to) them.
///
/// A ring that was replaced may still be read by a thief, so it is kept until the owner
/// [takes](crate::Worker::take_replaced) it away or the deque is dropped. All rings that were
/// outgrown since the last time the deque shrank are together smaller than the newest.
#[cfg(feature = "alloc")]
pub struct Growable<T: Element> {
    ring: AtomicPtr<Ring<T>>,
}

#[cfg(feature = "alloc")]
struct Ring<T: Element> {
    slots: Box<[SlotOf<T>]>,
    /// The ring that this one replaced, if nobody has taken it; only the owner looks.
    replaced: Cell<*mut Ring<T>>,
}

/// Rings of a deque that were replaced; freed when this is dropped.
#[cfg(feature = "alloc")]
pub struct ReplacedRings<T: Element> {
    newest: *mut Ring<T>,
}

// SAFETY: whoever has it has the rings for itself, but for thieves that only read atomics. A ring
// does not own its elements.
#[cfg(feature = "alloc")]
unsafe impl<T: Element> Send for ReplacedRings<T> {}

#[cfg(feature = "alloc")]
impl<T: Element> Drop for ReplacedRings<T> {
    fn drop(&mut self) {
        while !self.newest.is_null() {
            // SAFETY: each ring came from a box and is in one list once; that nobody reads it any
            // more is the obligation of who took it, or of the deque's drop.
            self.newest = unsafe { Box::from_raw(self.newest) }.replaced.get();
        }
    }
}

#[cfg(feature = "alloc")]
impl<T: Element> Growable<T> {
    const FIRST_CAPACITY: usize = if cfg!(any(loom, miri)) { 2 } else { 64 };

    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self { ring: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Puts a ring of another capacity, with the elements from the position `top` to `bottom`, in
    /// place of the one in use.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this, and not within another operation.
    /// 2. There are at most `capacity` such elements, and `capacity` is a power of two.
    unsafe fn replace(&self, top: usize, bottom: usize, capacity: usize) {
        let old = self.buffer();
        let slots: Box<[SlotOf<T>]> = (0..capacity).map(|_| SlotOf::<T>::vacant()).collect();
        let new: Buffer<'_, T> = Buffer { slots: &slots };
        let mut next = top;
        while next != bottom {
            new.slot(next).store(old.slot(next).load());
            next = next.wrapping_add(STEP);
        }
        // Ordering: Relaxed, only the owner writes it (obligation 1).
        let replaced = self.ring.load(Ordering::Relaxed);
        let replaced = Cell::new(replaced);
        let ring = Box::into_raw(Box::new(Ring { slots, replaced }));
        // Ordering: Release publishes the copied elements to thieves (`buffer`).
        self.ring.store(ring, Ordering::Release);
    }
}

#[cfg(feature = "alloc")]
impl<T: Element> Storage<T> for Growable<T> {
    fn buffer(&self) -> Buffer<'_, T> {
        // Ordering: Acquire pairs with `grow`: a ring is read only when its slots are filled.
        let ring = self.ring.load(Ordering::Acquire);
        // SAFETY: the pointer is null or a ring that lives as long as `self`, and after it was
        // published only its slots change, which are atomic.
        let slots = unsafe { ring.as_ref() }.map_or(&[][..], |ring: &Ring<T>| &*ring.slots);
        Buffer { slots }
    }

    #[cold]
    unsafe fn grow(&self, top: usize, bottom: usize) -> Option<Buffer<'_, T>> {
        let capacity = (2 * self.buffer().slots.len()).max(Self::FIRST_CAPACITY);
        // SAFETY: 1. is forwarded to our caller; 2. the elements fitted into half of the new ring.
        unsafe { self.replace(top, bottom, capacity) };
        Some(self.buffer())
    }

    unsafe fn shrink(&self, top: usize, bottom: usize, least: usize) -> bool {
        let capacity = self.buffer().slots.len();
        let used = distance(top, bottom).max(0).unsigned_abs();
        if used > capacity / 4 {
            return false;
        }
        // Twice the room that is in use: the deque must double before it grows again, and halve before
        // it shrinks again.
        let smaller = (2 * used)
            .max(least)
            .max(Self::FIRST_CAPACITY)
            .next_power_of_two();
        if smaller >= capacity {
            return false;
        }
        // SAFETY: 1. is forwarded to our caller; 2. `smaller` is more than what is in use.
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

#[cfg(feature = "alloc")]
impl<T: Element> Drop for Growable<T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, nobody else has the deque any more.
        let newest = self.ring.load(Ordering::Relaxed);
        drop(ReplacedRings { newest });
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T: super::Element, const CAPACITY: usize> Sealed for super::Fixed<T, CAPACITY> {}
    #[cfg(feature = "alloc")]
    impl<T: super::Element> Sealed for super::Growable<T> {}
}
