//! A steal that also moves the elements after the oldest one.

use super::Stealer;
use crate::{
    batch,
    deque::{
        Handle, Order, Position, Storage, Worker,
        ends::{MAX_CLAIM, Mode},
    },
    element::{Element, Slot},
    steal::Steal,
};

impl<H: Handle> Stealer<H> {
    /// Steals the oldest element as [`steal_if`](Self::steal_if) does, and by the same exchange
    /// moves those that follow it into the deque of another owner, in their order, as long as
    /// `follows` returns true for their words. Returns the oldest element and how many were
    /// moved: in all not more than half of those that were there, rounded up, and at most 32.
    ///
    /// Intended for a scheduler whose jobs are not all worth moving. None is moved from a LIFO
    /// deque that is not open to batches, see [`FencePrice`](crate::FencePrice); this steal opens
    /// it for the next one if there is a follower.
    ///
    /// `follows` receives the words of an element that another thread may take meanwhile. In that
    /// case, the answer is [`Steal::Retry`].
    ///
    /// # Examples
    /// ```
    /// use deque_core::{Steal, Worker};
    ///
    /// let (busy, idle) = (Worker::new_lifo(), Worker::new_lifo());
    /// (1..=6).for_each(|job| busy.push(job));
    /// let steal = || busy.stealer().steal_with_followers(&idle, |_| true, |_| true, || ());
    /// assert_eq!(steal(), Steal::Success((1, 0)));
    /// assert_eq!(steal(), Steal::Success((2, 2)));
    /// assert_eq!((idle.pop(), idle.pop(), idle.pop()), (Some(4), Some(3), None));
    /// ```
    pub fn steal_with_followers<D>(
        &self,
        destination: &Worker<D>,
        accepts: impl FnOnce(Position) -> bool,
        follows: impl Fn(&<H::Element as Element>::Words) -> bool,
        on_revocation: impl FnOnce(),
    ) -> Steal<(H::Element, usize)>
    where
        D: Handle<Element = H::Element>,
    {
        let Some((top, available)) = self.observe(on_revocation) else {
            return Steal::Retry;
        };
        if available == 0 {
            return Steal::Empty;
        }
        let buffer = self.deque.shared.storage.buffer();
        let words = |number| buffer.slot(top.position().plus(number)).load();
        let oldest = words(0);
        if !accepts(top.position()) {
            return Steal::Empty;
        }
        let is_open = self.deque.shared.order == Order::Fifo || top.mode() == Mode::Open;
        let most = batch::size(available, MAX_CLAIM) - 1;
        let wanted = (1..=if is_open { most } else { most.min(1) })
            .take_while(|&number| follows(&words(number)))
            .count();
        // From here on no code of the user runs, which might push to the destination.
        let reserved = destination.reserve(if is_open { wanted } else { 0 });
        let moved = reserved.room;
        for number in 0..moved {
            // The same words as before if the claim succeeds.
            reserved.write(number, words(1 + number));
        }
        let claim = if !is_open && wanted > 0 && top.mode() == Mode::Fenced {
            self.deque.top.claim_and_open(top)
        } else {
            self.deque.top.claim(top, 1 + moved)
        };
        if claim.is_err() {
            return Steal::Retry;
        }
        // SAFETY: 1. these cells were written above, with words that the claim makes ours, for the
        // reason given in `steal`.
        unsafe { reserved.publish(moved) };
        // SAFETY: 1. and 2. as in `steal`; these words are in no cell of the destination.
        Steal::Success((unsafe { H::Element::from_words(oldest) }, moved))
    }
}
