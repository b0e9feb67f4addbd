//! Where a thread says what it has confirmed.

use crate::{AsymmetricFence, Progress, line::Line, value::WAITING};
use sleep_core::Parker;
use sleep_primitives::RawWord;

/// A thread's instance and line. Its guards have a copy: that stays in registers when a
/// fence makes the compiler forget what is in memory.
pub(crate) struct Place<'p, P: Parker, L: AsRef<[Line<P>]>, B: AsymmetricFence> {
    pub(crate) progress: &'p Progress<P, L, B>,
    pub(crate) line: &'p Line<P>,
}

impl<P: Parker, L: AsRef<[Line<P>]>, B: AsymmetricFence> Clone for Place<'_, P, L, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Parker, L: AsRef<[Line<P>]>, B: AsymmetricFence> Copy for Place<'_, P, L, B> {}

impl<P: Parker, L: AsRef<[Line<P>]>, B: AsymmetricFence> Place<'_, P, L, B> {
    /// Writes the line, and orders that before all that the thread reads from now on.
    #[inline]
    pub(crate) fn confirm(self, value: RawWord) {
        self.line.set_confirmed(value);
        // Ordering: pairs with the leader's heavy fence (`try_advance`), with that of one who asks
        // or blocks (`ask`, `block`), and with the full fence of `later`.
        B::light();
    }

    /// From active to waiting, for a thread that does not lead.
    #[inline]
    pub(crate) fn leave(self) {
        self.confirm(WAITING);
        let state = self.progress.state();
        if state.asks_for_attention() {
            self.progress.attend(state);
        }
    }
}
