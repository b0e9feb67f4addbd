//! Ways to hold a deque.

use core::ops::Deref;

use super::{Deque, Storage};
use crate::element::Element;

/// A way to hold a [`Deque`]: `&Deque`, or with `alloc` `Arc<Deque>`.
///
/// # Examples
/// ```
/// use deque_core::{Handle, Worker};
///
/// fn drain<H: Handle>(worker: &Worker<H>) -> usize {
///     std::iter::from_fn(|| worker.pop()).count()
/// }
///
/// let worker = Worker::new_lifo();
/// (0..3).for_each(|job| worker.push(job));
/// assert_eq!(drain(&worker), 3);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handle to a deque",
    label = "expected `Arc<Deque<..>>` or `&Deque<..>`",
    note = "`Worker<H>` and `Stealer<H>` name the handle, not the element",
    note = "if this is the element, write `ArcWorker<{Self}>` and `ArcStealer<{Self}>`, which \
            `Worker::new_lifo`, `Worker::new_fifo` and `Worker::stealer` return",
    note = "to borrow a deque, write `Worker<&Deque<{Self}, Growable<{Self}>>>`, or \
            `Fixed<{Self}, CAPACITY>` instead of `Growable<{Self}>`"
)]
pub trait Handle:
    Clone + Deref<Target = Deque<Self::Element, Self::Storage>> + sealed::Sealed
{
    /// The deque's elements.
    type Element: Element;
    /// Where the deque keeps them.
    type Storage: Storage<Self::Element>;
}

impl<T: Element, S: Storage<T>> Handle for &Deque<T, S> {
    type Element = T;
    type Storage = S;
}

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<T: Element, S: Storage<T>> Handle for alloc::sync::Arc<Deque<T, S>> {
    type Element = T;
    type Storage = S;
}

mod sealed {
    use super::{Deque, Element, Storage};

    /// Sealed, since a handle must always lead to the same deque.
    pub trait Sealed {}

    impl<T: Element, S: Storage<T>> Sealed for &Deque<T, S> {}

    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    impl<T: Element, S: Storage<T>> Sealed for alloc::sync::Arc<Deque<T, S>> {}
}
