//! Where a thread says what it has confirmed.

use sleep_primitives::RawWord;

use crate::{AsymmetricFence, Domain, Progress, moment::WAITING, participant::Participant};

/// A thread's instance and line. Its guards have a copy: that stays in registers when a
/// fence makes the compiler forget what is in memory.
pub(crate) struct Registration<'p, D: Domain> {
    pub(crate) progress: &'p Progress<D>,
    pub(crate) participant: &'p Participant<D::Parker>,
}

impl<D: Domain> Clone for Registration<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Domain> Copy for Registration<'_, D> {}

impl<D: Domain> Registration<'_, D> {
    /// Writes the line, and orders that before all that the thread reads from now on.
    #[inline]
    pub(crate) fn confirm(self, value: RawWord) {
        self.participant.set_confirmed(value);
        // Ordering: pairs with the leader's heavy fence (`try_advance`), with that of one who asks
        // or blocks (`request_wakeup`, `block`), and with the full fence of `later`.
        D::Fence::light();
    }

    /// From active to waiting, for a thread that does not lead.
    #[inline]
    pub(crate) fn leave(self) {
        self.confirm(WAITING);
        let state = self.progress.state();
        if state.has_pending() {
            self.progress.handle_pending(state);
        }
    }
}
