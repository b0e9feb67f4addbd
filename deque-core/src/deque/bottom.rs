//! The owner's end.

use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

/// The position after the newest element, and whether the owner has to look at something else after
/// each push. The position is written by the owner alone.
pub(super) struct AtomicBottom {
    position: AtomicUsize,
    /// Set by any thread, reset by the owner. On the line that the owner writes in each push anyway.
    is_alerted: AtomicBool,
}

impl AtomicBottom {
    const_unless_loom! {
        /// At position zero, alerted.
        pub(super) fn new() -> Self {
            Self {
                position: AtomicUsize::new(0),
                is_alerted: AtomicBool::new(true),
            }
        }
    }

    /// Only for one who has the deque for itself.
    pub(super) fn start_at(&self, position: usize) {
        // Ordering: Relaxed, nobody else has the deque.
        self.position.store(position, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn load(&self, ordering: Ordering) -> usize {
        self.position.load(ordering)
    }

    /// Makes the elements before the position visible.
    #[inline]
    pub(super) fn publish(&self, position: usize) {
        // Ordering: Release pairs with the thief's Acquire of `bottom` in `Stealer`: the thief must see
        // the slots, and what the elements refer to. (A release fence with a relaxed store, as in the
        // paper, does the same, but ThreadSanitizer does not know fences.)
        self.position.store(position, Ordering::Release);
    }

    /// Whether nothing has alerted the owner since it calmed down.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        // Ordering: Relaxed. What orders this look after the owner's push is a fence of the owner
        // (`Worker::calm_down`) or a process fence; what the alert announces is read after a fence.
        !self.is_alerted.load(Ordering::Relaxed)
    }

    /// See [`Worker::calm_down`](super::Worker::calm_down). By the owner.
    pub(super) fn set_calm(&self) {
        // Ordering: Relaxed, the caller's fence orders it.
        self.is_alerted.store(false, Ordering::Relaxed);
    }

    /// See [`Deque::alert`](super::Deque::alert).
    pub(super) fn alert(&self) -> bool {
        // The look first, since the flag is read in each push and written seldom.
        let was_calm = self.is_calm();
        if was_calm {
            // Ordering: Relaxed, the caller's fences order it.
            self.is_alerted.store(true, Ordering::Relaxed);
        }
        was_calm
    }
}
