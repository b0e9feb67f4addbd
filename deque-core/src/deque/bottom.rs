//! The owner's end.

use super::position::Position;
use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

/// The position after the newest element, and whether the owner's fast push is disabled. Only the
/// owner writes the position.
pub(super) struct AtomicBottom {
    position: AtomicUsize,
    /// Set by any thread, reset by the owner. It is on the cache line that each push writes
    /// anyway.
    fast_push_disabled: AtomicBool,
}

impl AtomicBottom {
    const_unless_loom! {
        /// Creates a bottom at position zero, with fast push disabled.
        pub(super) fn new() -> Self {
            Self {
                position: AtomicUsize::new(0),
                fast_push_disabled: AtomicBool::new(true),
            }
        }
    }

    /// Moves the position of a deque that no other thread can access.
    pub(super) fn start_at(&self, position: Position) {
        // Ordering: Relaxed, no other thread can access the deque.
        self.position.store(position.into_word(), Ordering::Relaxed);
    }

    /// Returns the position.
    #[inline]
    pub(super) fn load(&self, ordering: Ordering) -> Position {
        Position::from_word(self.position.load(ordering))
    }

    /// Makes the elements before `position` visible to thieves.
    #[inline]
    pub(super) fn publish(&self, position: Position) {
        // Ordering: Release pairs with the thief's Acquire of `bottom` in `Stealer`: the thief must
        // see the slots, and what the elements refer to. (A release fence with a relaxed store, as
        // in the paper, does the same, but ThreadSanitizer does not model fences.)
        self.position.store(position.into_word(), Ordering::Release);
    }

    /// Whether fast push is enabled.
    #[inline]
    pub(super) fn fast_push_enabled(&self) -> bool {
        // Ordering: Relaxed. A fence of the owner (`Worker::enable_fast_push`) or a process fence
        // orders this load after the owner's push. What the disabling thread has announced is read
        // after a fence.
        !self.fast_push_disabled.load(Ordering::Relaxed)
    }

    /// Enables fast push, see [`Worker::enable_fast_push`](super::Worker::enable_fast_push). Only
    /// the owner calls this.
    pub(super) fn enable_fast_push(&self) {
        // Ordering: Relaxed, the caller's fence orders it.
        self.fast_push_disabled.store(false, Ordering::Relaxed);
    }

    /// Disables fast push, see [`Deque::disable_fast_push`](super::Deque::disable_fast_push).
    /// Returns whether it was enabled.
    pub(super) fn disable_fast_push(&self) -> bool {
        // Load first: each push reads the flag, so a needless store would cost the owner a cache
        // miss.
        let was_enabled = self.fast_push_enabled();
        if was_enabled {
            // Ordering: Relaxed, the caller's fences order it.
            self.fast_push_disabled.store(true, Ordering::Relaxed);
        }
        was_enabled
    }
}
