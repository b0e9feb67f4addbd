//! The counters of `Jec`, and the bits of sleepers.

use crate::pool::world::MAX_WORKERS;

/// The counters, and the bits of sleepers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(in crate::pool) struct Shared {
    pub(in crate::pool) sleeping: u8,
    pub(in crate::pool) inactive: u8,
    /// Odd if a worker got sleepy since the last post, where the counter of `Jec` is even. No
    /// scenario is long enough to make it come round.
    pub(super) jec: u8,
    pub(in crate::pool) bits: [bool; MAX_WORKERS],
}

impl Shared {
    /// In a new pool, no worker is.
    pub(super) fn is_sleepy(self) -> bool {
        self.jec % 2 == 1
    }

    pub(in crate::pool) fn awake_but_idle(self) -> u8 {
        self.inactive.saturating_sub(self.sleeping)
    }

    pub(super) fn raise_sleeping(&mut self) -> Result<(), String> {
        if self.sleeping >= self.inactive {
            return Err("a thread sleeps that is not inactive".to_owned());
        }
        self.sleeping += 1;
        Ok(())
    }

    pub(super) fn lower_sleeping(&mut self) -> Result<(), String> {
        self.sleeping = self
            .sleeping
            .checked_sub(1)
            .ok_or("fewer than no threads sleep")?;
        Ok(())
    }

    pub(super) fn lower_inactive(&mut self) -> Result<(), String> {
        self.inactive = self
            .inactive
            .checked_sub(1)
            .ok_or("fewer than no threads are inactive")?;
        Ok(())
    }
}
