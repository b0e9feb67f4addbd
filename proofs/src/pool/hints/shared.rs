//! What workers and notifiers share.

use crate::pool::world::{MAX_WORKERS, Slot, World};

/// The count of sleepers, and the workers' slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::pool) struct Shared {
    /// Positive: workers that are registered, and that no notifier has taken. Negative:
    /// notifications that wait for workers.
    pub(super) units: i8,
    pub(super) slots: [HintSlot; MAX_WORKERS],
}

/// The state of a worker's slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::pool) enum HintSlot {
    #[default]
    Awake,
    Asleep,
    Searching,
    Busy,
    Notified,
}

impl Shared {
    pub(super) fn slot(&self, worker: u8) -> HintSlot {
        self.slots[usize::from(worker)]
    }

    /// Changes a slot, if it is in one of these states.
    pub(super) fn exchange(
        &mut self,
        world: &mut World,
        worker: u8,
        from: &[HintSlot],
        to: HintSlot,
    ) -> bool {
        let slot = &mut self.slots[usize::from(worker)];
        let is_exchanged = from.contains(slot);
        if is_exchanged {
            *slot = to;
            world.place(worker).slot = match to {
                HintSlot::Asleep => Slot::Asleep,
                _ => Slot::Awake,
            };
        }
        is_exchanged
    }
}
