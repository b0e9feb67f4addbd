//! A word that one delay at a time has for itself.

use sleep_primitives::{AtomicWord, Ordering, RawWord};

use crate::{
    AsymmetricFence,
    moment::{WAITING, next},
    state::SharedState,
};

/// A word that one delay at a time has for itself. It contains the value that the delay has
/// confirmed, as the participant of a [`Reader`](crate::Reader) does, or [`WAITING`].
///
/// Only the delay that has taken the word writes to it. So the delay ends with a store, where a
/// counter takes a second read-modify-write. The leader does not mark the word: as with a
/// participant, the thread that ends the delay looks whether others wait for progress.
pub(super) struct OwnWord(AtomicWord);

impl OwnWord {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self(AtomicWord::new(WAITING))
        }
    }

    /// Begins a delay. Returns false if another delay has the word.
    #[inline]
    pub(super) fn try_begin<F: AsymmetricFence>(&self, state: &SharedState) -> bool {
        // Ordering: Relaxed, a hint that saves the exchange.
        if self.0.load(Ordering::Relaxed) != WAITING {
            return false;
        }
        let mut current = state.load().value();
        // Ordering: Acquire pairs with the Release of the last `end`, so that our own `end` passes
        // on what that delay has read. The exchange itself also continues what was released, for a
        // leader that sees this value; so does the `swap` below. Relaxed on failure: nothing was
        // received. The fence orders it before the second look.
        let taken =
            self.0
                .compare_exchange(WAITING, next(current), Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        loop {
            // Ordering: pairs with the leader's heavy fence after its advance to `current + 1`:
            // either the scan for `current + 2` sees the word, or the second look sees that
            // advance. Also with the full fence of `later`, see "Why no reader is overtaken".
            F::light();
            let now = state.load().value();
            if now == current {
                return true;
            }
            current = now;
            // Ordering: Relaxed, as said.
            self.0.swap(next(current), Ordering::Relaxed);
        }
    }

    /// Ends the delay. After this, the caller must look whether others wait for progress.
    #[inline]
    pub(super) fn end<F: AsymmetricFence>(&self) {
        // Ordering: Release pairs with `may_pass`: what was read during the delay happens before
        // what the advance allows.
        self.0.store(WAITING, Ordering::Release);
        // Ordering: pairs with the heavy fence of a thread that requests a wake-up
        // (`request_wakeup`), and with that of a leader that stops (`lead_while_needed`): either
        // that thread sees that the delay has ended, or the caller sees the request, and finds the
        // leadership free.
        F::light();
    }

    /// Whether no delay in this word stands in the way of the advance to `next`.
    pub(super) fn may_pass(&self, next: RawWord) -> bool {
        // Ordering: Acquire pairs with `end`.
        matches!(self.0.load(Ordering::Acquire), value if value == next || value == WAITING)
    }

    /// Returns the value that a delay in this word has confirmed. Debug output only.
    pub(super) fn confirmed(&self) -> Option<RawWord> {
        // Ordering: Relaxed; debug output only.
        let value = self.0.load(Ordering::Relaxed);
        (value != WAITING).then_some(value)
    }
}
