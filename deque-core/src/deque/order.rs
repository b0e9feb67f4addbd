//! The two orders of a deque.

/// The end from which the owner takes.
///
/// # Examples
/// ```
/// use deque_core::{Deque, Order};
///
/// let deque = Deque::growable(Order::Fifo);
/// let worker = deque.worker()?;
/// (1..=3).for_each(|job| worker.push(job));
/// assert_eq!(worker.pop(), Some(1));
/// # Ok::<(), deque_core::AlreadyOwned>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The owner takes what it pushed last, and thieves what it pushed first: best for fork/join.
    Lifo,
    /// Owner and thieves both take what was pushed first: a queue with one producer.
    Fifo,
}
