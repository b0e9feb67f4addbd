//! Readers that are not managed.

use core::fmt;

use crate::{Active, AsymmetricFence, Domain, Pinned, Progress, Reading, delays};

impl<D: Domain> Progress<D> {
    /// Holds up progress, so that a thread which is not managed may read. Any number of threads,
    /// any number of times; drop the delay soon.
    ///
    /// Two read-modify-writes on one of a few cache lines that all such threads share. A thread that
    /// reads often does better with a [`Reader`](crate::Reader), which touches only a line of its own.
    #[inline]
    #[must_use = "the delay ends when it is dropped"]
    pub fn delay(&self) -> Delay<'_, D> {
        let counter = self
            .delays
            .begin::<D::Fence>(&self.shared.state, |wrong| self.end_delay(wrong));
        Delay {
            progress: self,
            counter,
        }
    }

    #[inline]
    fn end_delay(&self, counter: delays::CounterIndex) {
        if self.delays.end(counter) {
            self.advance_after_delay();
        }
    }

    #[cold]
    fn advance_after_delay(&self) {
        // Ordering: pairs with the heavy fence in `advance_while_needed` of a leader who stops: either it sees
        // that the delay has ended, or we find nobody leading. If there is no fence, there will be
        // no progress either.
        let _ = D::Fence::heavy();
        self.advance_while_needed();
    }
}

/// A value whose owner may read what is freed by progress: [`Delay`], [`Reading`], [`Active`] and
/// [`Pinned`]. What is read should borrow from it.
///
/// # Safety
/// 1. As long as the value lives, progress does not come to a moment that is asked for meanwhile.
pub unsafe trait Guard {}

// SAFETY: 1. a delay stops the second advance, until it is dropped.
unsafe impl<D: Domain> Guard for Delay<'_, D> {}
// SAFETY: 1. so does the line of a reader.
unsafe impl<D: Domain> Guard for Reading<'_, '_, D> {}
// SAFETY: 1. so does that of a thread, until it updates; that needs the value for itself, so what
// borrows from it has gone.
unsafe impl<D: Domain> Guard for Active<'_, '_, D> {}
// SAFETY: 1. as above, without updates.
unsafe impl<D: Domain> Guard for Pinned<'_, '_, D> {}

/// Progress is held up while this lives. From [`Progress::delay`].
pub struct Delay<'p, D: Domain> {
    progress: &'p Progress<D>,
    counter: delays::CounterIndex,
}

impl<D: Domain> Drop for Delay<'_, D> {
    #[inline]
    fn drop(&mut self) {
        self.progress.end_delay(self.counter);
    }
}

impl<D: Domain> fmt::Debug for Delay<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delay").finish_non_exhaustive()
    }
}
