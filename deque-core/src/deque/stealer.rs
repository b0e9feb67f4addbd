//! The thieves' end of a deque.

use core::fmt;

use super::{
    Deque, Handle, Order, ProcessFence, Storage, Worker,
    top::{Mode, STEP, Top, distance},
};
use crate::{
    element::{Element, Slot},
    primitive::{Ordering, full_fence, interruption_point, spin_loop},
    steal::Steal,
};

/// The most elements that one batch steal takes.
const MAX_BATCH: usize = 32;

/// How often a thief looks for the owner's answer, with a pause before each look: a microsecond in
/// all, or three, as the processor's pause is.
const ANSWER_LOOKS: usize = if cfg!(loom) { 1 } else { 64 };

/// A thief's handle to a [`Deque`]. Any number of them may be used by any threads.
#[derive(Clone, Copy)]
pub struct Stealer<H: Handle> {
    deque: H,
}

impl<H: Handle> Stealer<H> {
    /// A thief of this deque.
    pub fn new(deque: H) -> Self {
        Self { deque }
    }

    /// The deque.
    #[must_use]
    pub fn deque(&self) -> &Deque<H::Element, H::Storage> {
        &self.deque
    }

    /// How many elements there were at some moment during the call.
    #[must_use]
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// True if there was no element at some moment during the call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deque.is_empty()
    }

    /// Steals the oldest element.
    ///
    /// `Retry` means that somebody took an element, or changed who brings the fence, at the same time.
    pub fn steal(&self) -> Steal<H::Element> {
        let Some((top, available)) = self.look() else {
            return Steal::Retry;
        };
        if available == 0 {
            return Steal::Empty;
        }
        // The words must be read before the compare-exchange: after it the owner may overwrite
        // them (crossbeam#148, #149).
        let words = self
            .deque
            .shared
            .storage
            .buffer()
            .slot(top.position())
            .load();
        if self.deque.top.claim(top, 1).is_err() {
            return Steal::Retry;
        }
        // SAFETY: 1. the words were whole: `look` acquired the push of this index, and a later
        // element comes into its slot only after `top` has moved on, which it had not; 2. moving
        // `top` makes them ours.
        Steal::Success(unsafe { H::Element::from_words(words) })
    }

    /// Steals about half of the elements, at least one and at most 32, into the deque of another
    /// owner, oldest first. Returns how many.
    ///
    /// From a FIFO deque that is one compare-exchange, from a LIFO deque one for each element. If
    /// the destination cannot take all of them, fewer are stolen; if it is full, none
    /// ([`Steal::Empty`]).
    pub fn steal_batch<D>(&self, destination: &Worker<D>) -> Steal<usize>
    where
        D: Handle<Element = H::Element>,
    {
        let Some((top, available)) = self.look() else {
            return Steal::Retry;
        };
        // Half rounded up: half of one must be one, or the last element could not be stolen.
        let wanted = available.div_ceil(2).min(MAX_BATCH);
        if wanted == 0 {
            return Steal::Empty;
        }
        let batch = match self.deque.shared.order {
            Order::Fifo => wanted,
            // The owner of a LIFO deque takes elements without touching `top` as long as it sees
            // one more; a claim of several could overlap with what it took (crossbeam#149).
            Order::Lifo => 1,
        };
        let mut stolen = self.steal_into(destination, top, batch);
        let mut total = stolen.success().unwrap_or(0);
        while total > 0 && total < wanted && stolen.success().is_some() {
            let Some((top, 1..)) = self.look() else {
                break;
            };
            stolen = self.steal_into(destination, top, 1);
            total += stolen.success().unwrap_or(0);
        }
        if total > 0 {
            Steal::Success(total)
        } else {
            stolen
        }
    }

    /// As [`steal_batch`](Self::steal_batch), but returns the oldest element of the batch and
    /// puts only the others into `destination`, so that it needs no room for a batch of one.
    pub fn steal_batch_and_pop<D>(&self, destination: &Worker<D>) -> Steal<H::Element>
    where
        D: Handle<Element = H::Element>,
    {
        let first = self.steal();
        if matches!(first, Steal::Success(_)) {
            // Others may be faster, or the destination may be full: one element is enough.
            let _ = self.steal_batch(destination);
        }
        first
    }

    /// One consistent look at the deque: `top`, and how many elements there are from it on. None if
    /// somebody has changed `top` at the same time.
    fn look(&self) -> Option<(Top, usize)> {
        let deque = &*self.deque;
        // Ordering: Acquire pairs with `AtomicTop::end_revocation` and `AtomicTop::bias`: in the mode
        // that we find, we may rely on what led to it.
        let mut top = deque.top.load(Ordering::Acquire);
        if deque.shared.order == Order::Lifo {
            match (top.mode(), deque.shared.fence) {
                // Ordering: pairs with the owner's fence in `Worker::top_after_fence`, see there. Needed
                // although `top` is confirmed by the compare-exchange: that does not say whether
                // `bottom` was read before the owner lowered it. A FIFO owner never lowers it.
                (Mode::Fenced, _) | (_, None) => full_fence(),
                (Mode::Biased, Some(_)) if deque.is_empty() => return Some((top, 0)),
                (Mode::Biased, Some(fence)) => {
                    interruption_point();
                    if !deque.top.begin_revocation(top) {
                        return None;
                    }
                    let is_answered = self.have_owner_fence(fence);
                    deque.top.end_revocation(is_answered);
                    top = top.fenced();
                }
                // What the thief that revokes waits for may not have been yet.
                (Mode::Revoking, Some(fence)) => {
                    self.have_owner_fence(fence);
                }
            }
        }
        // Ordering: Acquire pairs with `Worker::publish`: slots, ring and elements are visible.
        interruption_point();
        let bottom = deque.bottom.load(Ordering::Acquire);
        interruption_point();
        let available = distance(top.position(), bottom).max(0).unsigned_abs();
        Some((top, available))
    }

    /// Sees to it that the owner takes fences: waits a moment for its answer, which comes with its
    /// next pop, and else has it take one. Whether it has answered.
    fn have_owner_fence(&self, fence: &dyn ProcessFence) -> bool {
        let is_answered = (0..ANSWER_LOOKS).any(|_| {
            spin_loop();
            self.deque.top.is_answered()
        });
        if is_answered {
            // Ordering: pairs with the owner's fence before `AtomicTop::answer`, so that we see every
            // `bottom` that it wrote without one, and with those that it takes from now on.
            full_fence();
        } else {
            // Ordering: pairs with the owner's compiler fence in `Worker::lower`, where a full one
            // is missing.
            fence.fence_all();
        }
        is_answered
    }

    /// Moves `count` elements, which exist from `top` on, or as many as there is room for.
    fn steal_into<D>(&self, destination: &Worker<D>, top: Top, count: usize) -> Steal<usize>
    where
        D: Handle<Element = H::Element>,
    {
        let reserved = destination.reserve(count);
        let count = reserved.room;
        if count == 0 {
            return Steal::Empty;
        }
        let buffer = self.deque.shared.storage.buffer();
        for offset in 0..count {
            reserved.write(
                offset,
                buffer
                    .slot(top.position().wrapping_add(offset * STEP))
                    .load(),
            );
        }
        if self.deque.top.claim(top, count).is_err() {
            return Steal::Retry;
        }
        // SAFETY: 1. all `count` slots were written above, with words that the claim makes ours,
        // for the reason given in `steal`.
        unsafe { reserved.publish(count) };
        Steal::Success(count)
    }
}

impl<H: Handle> fmt::Debug for Stealer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("deque", &*self.deque)
            .finish()
    }
}
