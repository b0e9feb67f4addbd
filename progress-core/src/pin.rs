//! Reading by a managed thread whose frames do not know of each other.

use core::fmt;

use crate::{Domain, ManagedThread};

impl<'p, D: Domain> ManagedThread<'p, D> {
    /// Makes the thread active until the guard is dropped, and may be called again meanwhile: the
    /// thread stays active until the last guard is dropped. For a thread whose frames read without
    /// knowing of each other, such as a pool's worker that runs one job within another.
    ///
    /// Progress waits for the thread as long as a guard lives: there is no
    /// [update](crate::Active::update) in between. Only the first guard costs what
    /// [`activate`](Self::activate) costs.
    ///
    /// Waits if another thread blocks, unless a guard lives already.
    #[inline]
    pub fn pin(&self) -> Pinned<'_, 'p, D> {
        let pins = self.pins.get();
        if pins == 0 {
            self.enter();
        }
        // Guards can be forgotten, so the count could overflow; one that lives would then be lost.
        let pins = pins.checked_add(1).expect("too many forgotten guards");
        self.pins.set(pins);
        Pinned { thread: self }
    }
}

/// The thread may read. From [`ManagedThread::pin`].
pub struct Pinned<'t, 'p, D: Domain> {
    thread: &'t ManagedThread<'p, D>,
}

impl<D: Domain> Drop for Pinned<'_, '_, D> {
    #[inline]
    fn drop(&mut self) {
        let pins = self.thread.pins.get() - 1;
        self.thread.pins.set(pins);
        if pins == 0 {
            self.thread.registration.leave();
        }
    }
}

impl<D: Domain> fmt::Debug for Pinned<'_, '_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned")
            .field("pins", &self.thread.pins.get())
            .finish_non_exhaustive()
    }
}
