//! A ring of fixed size.

use core::{convert::Infallible, fmt};

use super::{Buffer, Position, Storage};
#[cfg(not(loom))]
use crate::element::Slot;
use crate::element::{Element, SlotOf};

/// A fixed number of cells within the deque itself.
///
/// # Examples
/// ```
/// use deque_core::{Deque, Fixed, Full, Order};
///
/// static DEQUE: Deque<usize, Fixed<usize, 2>> = Deque::fixed(Order::Lifo);
///
/// let worker = DEQUE.worker()?;
/// worker.try_push(1)?;
/// worker.try_push(2)?;
/// assert_eq!(worker.try_push(3), Err(Full(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Cells for elements without words take no memory. Even so, there must be a position for each:
/// ```compile_fail,E0080
/// use deque_core::{Deque, Fixed, Order};
///
/// let deque = Deque::<(), Fixed<(), { 1 << (usize::BITS - 3) }>>::fixed(Order::Lifo);
/// ```
pub struct Fixed<T: Element, const CAPACITY: usize> {
    slots: [SlotOf<T>; CAPACITY],
}

impl<T: Element, const CAPACITY: usize> fmt::Debug for Fixed<T, CAPACITY> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixed")
            .field("capacity", &CAPACITY)
            .finish_non_exhaustive()
    }
}

impl<T: Element, const CAPACITY: usize> Fixed<T, CAPACITY> {
    const HAS_POSITIONS: () = {
        assert!(
            CAPACITY.is_power_of_two(),
            "the capacity must be a power of two"
        );
        assert!(
            CAPACITY <= Position::MOST_ELEMENTS,
            "the capacity must be at most 2^(usize::BITS - 5)"
        );
    };

    #[cfg(not(loom))]
    pub(in crate::deque) const fn new() -> Self {
        const { Self::HAS_POSITIONS };
        Self {
            slots: [const { <SlotOf<T> as Slot>::VACANT }; CAPACITY],
        }
    }

    #[cfg(loom)]
    pub(in crate::deque) fn new() -> Self {
        const { Self::HAS_POSITIONS };
        Self {
            slots: core::array::from_fn(|_| crate::element::Slot::vacant()),
        }
    }
}

impl<T: Element, const CAPACITY: usize> Storage<T> for Fixed<T, CAPACITY> {
    #[inline]
    fn buffer(&self) -> Buffer<'_, T> {
        Buffer { slots: &self.slots }
    }

    unsafe fn grow(&self, _top: Position, _bottom: Position) -> Option<Buffer<'_, T>> {
        None
    }

    unsafe fn shrink(&self, _top: Position, _bottom: Position, _least: usize) -> bool {
        false
    }

    const REPLACES: bool = false;

    type Replaced = Infallible;

    unsafe fn take_replaced(&self) -> Option<Infallible> {
        None
    }
}
