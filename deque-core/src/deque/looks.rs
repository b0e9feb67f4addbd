//! What any thread sees of a deque, without taking from it.

use super::{Deque, Position, Storage};
use crate::{element::Element, primitive::Ordering};

impl<T: Element, S: Storage<T>> Deque<T, S> {
    /// Returns the approximate number of elements.
    ///
    /// An element that is there during the whole call is counted, and the number is never more than
    /// a capacity that the deque had. It is exact while no other thread uses the deque, and for its
    /// owner while no thread steals. Otherwise elements may be counted that were never there at the
    /// same moment.
    ///
    /// Any thread may call this at any time, even one for which replaced rings are not kept.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Order};
    ///
    /// let deque = Deque::growable(Order::Lifo);
    /// let worker = deque.worker()?;
    /// (0..3).for_each(|job| worker.push(job));
    /// assert_eq!(deque.len(), 3);
    /// # Ok::<(), deque_core::AlreadyOwned>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        // `bottom` first, and not the ring, which its owner may replace and free at any time. When
        // the owner published this `bottom`, it had read a `top` from which the elements fit the
        // ring.
        //
        // Ordering: Acquire pairs with `AtomicBottom::publish`: the `top` that we read is that one
        // or a later one. With less it could be an older one, and we would count more than there
        // was room for.
        let bottom = self.bottom.load(Ordering::Acquire);
        // Ordering: Relaxed; the Acquire above orders it.
        let top = self.top.load(Ordering::Relaxed);
        top.position().count_to(bottom)
    }

    /// Whether the deque has no element. True only if no element was there during the whole call.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Order};
    ///
    /// let deque = Deque::growable(Order::Lifo);
    /// let worker = deque.worker()?;
    /// assert!(deque.is_empty());
    /// worker.push(1);
    /// assert!(!deque.is_empty());
    /// # Ok::<(), deque_core::AlreadyOwned>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len_between_looks() == 0
    }

    /// Returns the distance from `top` to `bottom`. `bottom` may have moved far between the two
    /// loads.
    #[inline]
    pub(super) fn len_between_looks(&self) -> usize {
        // Ordering: Acquire pairs with `AtomicTop::claim`: `bottom` is at least what that thread
        // saw. With less it could be an older one, and a steal from a biased deque would find it
        // empty although another element came before the last one was taken.
        let top = self.top.load(Ordering::Acquire);
        // Ordering: Relaxed. An element that is there throughout is always between the two
        // positions; a caller that must see a certain push fences before.
        let bottom = self.bottom.load(Ordering::Relaxed);
        top.position().count_to(bottom)
    }

    /// Returns where the oldest element is, if there is one. The answer may be out of date on
    /// return.
    ///
    /// While the same position is returned, no thief has taken that element. Nor has the owner,
    /// unless the deque is [biased](Self::with_process_fence): such an owner may pop the only
    /// element, and push another one at the same position.
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Deque, Growable, Order};
    ///
    /// let deque = Deque::<usize, Growable<usize>>::growable(Order::Lifo);
    /// let worker = deque.worker()?;
    /// assert_eq!(deque.oldest(), None);
    /// worker.push(1);
    /// let oldest = deque.oldest();
    /// worker.push(2);
    /// assert_eq!(deque.oldest(), oldest);
    /// assert!(deque.stealer().steal().is_success());
    /// assert_ne!(deque.oldest(), oldest);
    /// # Ok::<(), deque_core::AlreadyOwned>(())
    /// ```
    pub fn oldest(&self) -> Option<Position> {
        // Ordering: Acquire pairs with `AtomicTop::claim`: `bottom` is at least what that thread
        // saw. With less, a deque would seem empty in which another element came before the first
        // one was taken.
        let top = self.top.load(Ordering::Acquire).position();
        // Ordering: Relaxed, as in `len_between_looks`.
        let bottom = self.bottom.load(Ordering::Relaxed);
        (top.count_to(bottom) > 0).then_some(top)
    }
}
