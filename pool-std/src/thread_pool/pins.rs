//! Which processor each worker is pinned to.

use core_affinity::CoreId;

/// The processors to which the workers of a pool are pinned. None if they are not.
#[derive(Default)]
pub(crate) struct Pins(Vec<CoreId>);

impl Pins {
    /// Returns the processors that this thread may use. None if the system does not say.
    pub(super) fn here() -> Self {
        Self(core_affinity::get_core_ids().unwrap_or_default())
    }

    /// Pins this thread, that of a worker, to its processor. If the system refuses, it stays as it
    /// is.
    pub(crate) fn pin(&self, worker: usize) {
        if let Some(place) = worker.checked_rem(self.0.len()) {
            core_affinity::set_for_current(self.0[place]);
        }
    }
}
