//! The place of one worker in the classic protocol.

use core::{fmt, ops::Deref};

use crossbeam_utils::CachePadded;

use crate::{parker::Parker, protocol::slot::SlotState};

/// The place of one worker in [`Classic`](crate::Classic), on its own cache lines.
///
/// # Examples
/// ```
/// use sleep_core::{ClassicSlot, Parker};
///
/// struct Core(u32);
/// impl Parker for Core {
///     fn park(&self) { /* WFI */ }
///     fn unpark(&self) { /* an interrupt to core self.0 */ }
/// }
///
/// static SLOTS: [ClassicSlot<Core>; 2] = [ClassicSlot::new(Core(0)), ClassicSlot::new(Core(1))];
/// assert_eq!(SLOTS[1].parker().0, 1);
/// ```
pub struct ClassicSlot<P> {
    state: CachePadded<SlotState<P>>,
}

impl<P> ClassicSlot<P> {
    const_unless_loom! {
        /// Creates a slot for a worker that is awake.
        #[must_use]
        pub fn new(parker: P) -> Self {
            Self { state: CachePadded::new(SlotState::new(parker)) }
        }
    }

    /// Returns the worker's parker.
    #[must_use]
    pub fn parker(&self) -> &P {
        self.state.parker()
    }

    /// Returns the word that says whether the worker sleeps.
    pub(super) fn state(&self) -> &SlotState<P> {
        &self.state
    }
}

impl<P: fmt::Debug> fmt::Debug for ClassicSlot<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}

/// Where the slots of a [`Classic`](crate::Classic) are stored: anything that dereferences to
/// `[ClassicSlot<P>]`, and always to the same slice, such as a borrowed slice, a box, or
/// [`Inline`](crate::Inline).
///
/// If it gives different slices, or another instance uses the same slots, wake-ups are lost or
/// calls panic, but no memory safety rests on it.
///
/// # Examples
/// See [`Classic`](crate::Classic): in a `static`, and in a box.
pub trait ClassicSlots {
    /// Blocks one worker.
    type Parker: Parker;

    /// Returns the workers' slots, in their order.
    fn slots(&self) -> &[ClassicSlot<Self::Parker>];
}

impl<P: Parker, S: Deref<Target = [ClassicSlot<P>]>> ClassicSlots for S {
    type Parker = P;

    #[inline]
    fn slots(&self) -> &[ClassicSlot<P>] {
        self
    }
}
