//! The thieves' end of a deque.

use core::{
    fmt,
    panic::{RefUnwindSafe, UnwindSafe},
};

mod batch;

use super::{
    Deque, Handle, Order, ProcessFence, Storage,
    top::{Mode, STEP, Top, distance},
};
use crate::{
    element::{Element, Slot},
    primitive::{Ordering, full_fence, interruption_point, spin_loop},
    steal::Steal,
};

/// How often a thief looks for the owner's answer, with a pause before each look: a microsecond in
/// all, or three, as the processor's pause is.
const ANSWER_LOOKS: usize = if cfg!(loom) { 1 } else { 64 };

/// A thief's handle to a [`Deque`]. Any number of them may be used by any threads.
#[derive(Clone, Copy)]
pub struct Stealer<H: Handle> {
    deque: H,
}

impl<H: Handle> UnwindSafe for Stealer<H> {}
impl<H: Handle> RefUnwindSafe for Stealer<H> {}

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

    /// Returns about how many elements there are, see [`Deque::len`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.deque.len()
    }

    /// Whether there is no element, see [`Deque::is_empty`].
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
        let buffer = self.deque.shared.storage.buffer();
        let words = buffer.slot(after(top, 0)).load();
        if self.deque.top.claim(top, 1).is_err() {
            return Steal::Retry;
        }
        // SAFETY: 1. the words were whole: `look` acquired the push of this index, and a later
        // element comes into its slot only after `top` has moved on, which it had not; 2. moving
        // `top` makes them ours.
        Steal::Success(unsafe { H::Element::from_words(words) })
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
                    match self.have_owner_fence(fence) {
                        Some(brought_by) => {
                            deque.top.end_revocation(brought_by == BroughtBy::Owner);
                            top = top.fenced();
                        }
                        // The revocation stays: the owner answers it with its next pop.
                        None => return self.nothing_to_rely_on(top),
                    }
                }
                // What the thief that revokes waits for may not have been yet.
                (Mode::Revoking, Some(fence)) => {
                    if self.have_owner_fence(fence).is_none() {
                        return self.nothing_to_rely_on(top);
                    }
                }
            }
        }
        Some((top, self.available(top)))
    }

    /// As [`look`](Self::look), but None also if the owner or another thread would have to take a fence
    /// first. Calls no code of others.
    fn look_again(&self) -> Option<(Top, usize)> {
        let deque = &*self.deque;
        // Ordering: as in `look`.
        let top = deque.top.load(Ordering::Acquire);
        if deque.shared.order == Order::Lifo {
            if top.mode() != Mode::Fenced && deque.shared.fence.is_some() {
                return None;
            }
            // Ordering: as in `look`.
            full_fence();
        }
        Some((top, self.available(top)))
    }

    /// How many elements there are from `top` on, after the fences that go before this look.
    fn available(&self, top: Top) -> usize {
        // Ordering: Acquire pairs with `Worker::publish`: slots, ring and elements are visible.
        interruption_point();
        let bottom = self.deque.bottom.load(Ordering::Acquire);
        interruption_point();
        distance(top.position(), bottom).max(0).unsigned_abs()
    }

    /// Sees to it that the owner takes fences: waits a moment for its answer, which comes with its
    /// next pop, and else has it take one. Returns None if neither happens: the owner has not
    /// popped, and the system refuses the fence.
    fn have_owner_fence(&self, fence: &dyn ProcessFence) -> Option<BroughtBy> {
        let is_answered = (0..ANSWER_LOOKS).any(|_| {
            spin_loop();
            self.deque.top.is_answered()
        });
        if is_answered {
            // Ordering: pairs with the owner's fence before `AtomicTop::answer`, so that we see every
            // `bottom` that it wrote without one, and with those that it takes from now on.
            full_fence();
            return Some(BroughtBy::Owner);
        }
        // Ordering: pairs with the owner's compiler fence in `Worker::lower`, where a full one
        // is missing.
        fence.fence_all().then_some(BroughtBy::System)
    }

    /// What a look tells without any fence of the owner: that the deque is empty, or nothing.
    fn nothing_to_rely_on(&self, top: Top) -> Option<(Top, usize)> {
        self.deque.is_empty().then_some((top, 0))
    }
}

/// Where the owner's fence has come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BroughtBy {
    /// The owner has answered.
    Owner,
    /// A process fence.
    System,
}

/// The position so many elements after the oldest one.
#[inline]
fn after(top: Top, offset: usize) -> usize {
    top.position().wrapping_add(offset * STEP)
}

impl<H: Handle> fmt::Debug for Stealer<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stealer")
            .field("deque", &*self.deque)
            .finish()
    }
}
