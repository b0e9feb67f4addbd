//! Where a deque keeps its elements: a ring of cells.

use core::fmt;

use super::position::Position;
use crate::element::{Element, SlotOf};

mod fixed;
#[cfg(feature = "alloc")]
mod growable;

pub use fixed::Fixed;
#[cfg(feature = "alloc")]
pub use growable::Growable;

/// Where a [`Deque`](crate::Deque) keeps its elements: [`Fixed`] or `Growable`.
///
/// # Examples
/// ```
/// use deque_core::{Deque, Fixed, Growable, Order, Storage};
///
/// fn push_two<S: Storage<u32>>(deque: &Deque<u32, S>) {
///     let worker = deque.worker().expect("the deque has no owner yet");
///     worker.try_push(1).expect("there is room");
///     worker.try_push(2).expect("there is room");
/// }
///
/// let fixed = Deque::<u32, Fixed<u32, 2>>::fixed(Order::Lifo);
/// let growable = Deque::<u32, Growable<u32>>::growable(Order::Lifo);
/// push_two(&fixed);
/// push_two(&growable);
/// assert_eq!((fixed.len(), growable.len()), (2, 2));
/// ```
pub trait Storage<T: Element>: sealed::Sealed {
    /// Returns the ring that is in use.
    #[doc(hidden)]
    fn buffer(&self) -> Buffer<'_, T>;

    /// Makes room beyond the elements from the position `top` to `bottom`, and returns the new
    /// ring. Returns `None` if the storage cannot grow.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this.
    #[doc(hidden)]
    unsafe fn grow(&self, top: Position, bottom: Position) -> Option<Buffer<'_, T>>;

    /// Replaces the ring by a smaller one of at least `least` cells, if the elements from the
    /// position `top` to `bottom` use at most a quarter of it. Returns whether it was replaced.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this, and not within another operation.
    #[doc(hidden)]
    unsafe fn shrink(&self, top: Position, bottom: Position, least: usize) -> bool;

    /// Whether rings are ever replaced.
    const REPLACES: bool;

    /// Rings that were replaced; freed when this is dropped.
    type Replaced: Send;

    /// Returns the rings that were replaced since the last call.
    ///
    /// # Safety
    /// 1. Only the deque's owner calls this.
    #[doc(hidden)]
    unsafe fn take_replaced(&self) -> Option<Self::Replaced>;
}

/// A ring of cells, whose number is a power of two or zero.
#[doc(hidden)]
pub struct Buffer<'a, T: Element> {
    pub(super) slots: &'a [SlotOf<T>],
}

impl<T: Element> fmt::Debug for Buffer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("capacity", &self.slots.len())
            .finish_non_exhaustive()
    }
}

impl<T: Element> Buffer<'_, T> {
    /// Returns the cell of a position.
    ///
    /// # Panics
    /// If the ring has no cells at all; a deque that holds an element has some.
    pub(super) fn slot(&self, position: Position) -> &SlotOf<T> {
        &self.slots[position.index() & (self.slots.len() - 1)]
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T: super::Element, const CAPACITY: usize> Sealed for super::Fixed<T, CAPACITY> {}
    #[cfg(feature = "alloc")]
    impl<T: super::Element> Sealed for super::Growable<T> {}
}
