//! The owner's end.

use crate::primitive::{AtomicUsize, Ordering};

/// The position after the newest element, and up to where the owner may push without a look at
/// anything else. Written by the owner; others can only alert it.
pub(super) struct AtomicBottom {
    position: AtomicUsize,
    /// [`ALERT`], or as far as the owner knows that there is room: nowhere else, so that the two
    /// positions are never more than the capacity apart, also across the wrap-around.
    calm_until: AtomicUsize,
}

/// No position is before this one.
const ALERT: usize = 0;

impl AtomicBottom {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                position: AtomicUsize::new(0),
                calm_until: AtomicUsize::new(ALERT),
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

    /// Whether there is room at `position`, which is the owner's, and nobody has alerted it. False also
    /// less than the capacity before a wrap-around.
    #[inline]
    pub(super) fn is_calm_at(&self, position: usize) -> bool {
        // Ordering: Relaxed, an alert is seen sooner or later.
        position < self.calm_until.load(Ordering::Relaxed)
    }

    /// The owner has looked: there is room until `to`, where it knew of room until `from`. An alert
    /// stays.
    pub(super) fn move_calm(&self, from: usize, to: usize) {
        if from != ALERT {
            // Ordering: Relaxed, for the owner itself. It fails after an alert.
            let _ =
                self.calm_until
                    .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Whether nobody has alerted the owner.
    pub(super) fn is_calm(&self) -> bool {
        // Ordering: Relaxed, as in `is_calm_at`.
        self.calm_until.load(Ordering::Relaxed) != ALERT
    }

    /// See [`Worker::calm_down`](super::Worker::calm_down). By the owner.
    pub(super) fn set_calm(&self, until: usize) {
        // Ordering: Relaxed, the caller's fence orders it.
        self.calm_until.store(until, Ordering::Relaxed);
    }

    /// See [`Deque::alert`](super::Deque::alert).
    pub(super) fn alert(&self) {
        // The look first, since it is read on each push and written seldom.
        if self.is_calm() {
            // Ordering: Relaxed, the caller's fence orders it. A store would do, but loom has no order
            // between that and the exchange in `move_calm`.
            self.calm_until.swap(ALERT, Ordering::Relaxed);
        }
    }
}
