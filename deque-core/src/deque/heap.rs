//! Deques on the heap, each owned by its handles together.

use alloc::sync::Arc;

use super::{Deque, Growable, Order, Stealer, Worker};
use crate::element::Element;

/// The owner's handle to a growing deque that lives as long as any handle to it.
///
/// Corresponds to `Worker<T>` of crossbeam-deque.
///
/// # Examples
/// ```
/// use deque_core::{ArcStealer, ArcWorker, Steal};
///
/// let worker: ArcWorker<String> = ArcWorker::new_fifo();
/// let stealer: ArcStealer<String> = worker.stealer();
/// worker.push("first".to_owned());
/// drop(worker);
/// assert_eq!(stealer.steal(), Steal::Success("first".to_owned()));
/// ```
pub type ArcWorker<T> = Worker<Arc<Deque<T, Growable<T>>>>;

/// A thief's handle to a growing deque that lives as long as any handle to it.
///
/// Corresponds to `Stealer<T>` of crossbeam-deque. For an example see [`ArcWorker`].
pub type ArcStealer<T> = Stealer<Arc<Deque<T, Growable<T>>>>;

impl<T: Element> ArcWorker<T> {
    /// Creates a growing deque on the heap whose owner takes the element that it pushed last.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// let stealer = worker.stealer();
    /// (1..=3).for_each(|job| worker.push(job));
    /// assert_eq!(worker.pop(), Some(3));
    /// assert_eq!(stealer.steal(), Steal::Success(1));
    /// ```
    #[must_use]
    pub fn new_lifo() -> Self {
        Self::with_order(Order::Lifo)
    }

    /// Creates a growing deque on the heap whose owner takes the element that it pushed first.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let worker = Worker::new_fifo();
    /// let stealer = worker.stealer();
    /// (1..=3).for_each(|job| worker.push(job));
    /// assert_eq!(worker.pop(), Some(1));
    /// assert_eq!(stealer.steal(), Steal::Success(2));
    /// ```
    #[must_use]
    pub fn new_fifo() -> Self {
        Self::with_order(Order::Fifo)
    }

    fn with_order(order: Order) -> Self {
        Self::new(Arc::new(Deque::growable(order))).expect("a new deque has no owner")
    }
}
