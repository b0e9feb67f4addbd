//! The owner's pops.

use super::Worker;
use crate::{
    deque::{
        Handle, Order, Position,
        bias::BudgetStep,
        ends::{Mode, Top},
    },
    element::{Element, Slot},
    primitive::{Ordering, full_fence, interruption_point, light_fence},
};

impl<H: Handle> Worker<H> {
    /// Takes the newest element (LIFO) or the oldest (FIFO).
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let (lifo, fifo) = (Worker::new_lifo(), Worker::new_fifo());
    /// for job in 1..=2 {
    ///     lifo.push(job);
    ///     fifo.push(job);
    /// }
    /// assert_eq!((lifo.pop(), lifo.pop(), lifo.pop()), (Some(2), Some(1), None));
    /// assert_eq!((fifo.pop(), fifo.pop(), fifo.pop()), (Some(1), Some(2), None));
    /// ```
    #[inline]
    pub fn pop(&self) -> Option<H::Element> {
        match self.order {
            Order::Lifo => self.pop_newest(),
            Order::Fifo => self.pop_oldest(),
        }
    }

    #[inline]
    fn pop_newest(&self) -> Option<H::Element> {
        // Ordering: Relaxed, only the owner writes it.
        let end = self.deque.bottom.load(Ordering::Relaxed);
        let newest = end.previous();
        match self.try_take_newest(newest) {
            // SAFETY: 1. the cell holds what was pushed at this position; 2. the element is ours.
            Ok(()) => Some(unsafe { H::Element::from_words(self.slot(newest).load()) }),
            Err(top) => self.pop_cold(top, end),
        }
    }

    /// Lowers `bottom` to the position of the newest element, which takes that element if it is
    /// exclusively the owner's.
    ///
    /// # Errors
    /// Returns `top` if the element may be a thief's, or if there is none. `bottom` stays lowered.
    #[inline]
    fn try_take_newest(&self, newest: Position) -> Result<(), Top> {
        let deque = &*self.deque;
        interruption_point();
        // A thief may read this value too, and then sees the elements before it.
        deque.bottom.publish(newest);
        // Ordering: orders the store above and the load below for a process fence of a thief, which
        // comes before or after it (`FencePrice`).
        light_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        interruption_point();
        if top.is_owner_exclusive(newest) {
            Ok(())
        } else {
            Err(top)
        }
    }

    /// Finishes a pop that has lowered `bottom` from `end` and could not take the newest element at
    /// once.
    #[cold]
    #[inline(never)]
    fn pop_cold(&self, top: Top, end: Position) -> Option<H::Element> {
        let (answer, step) = self.take_newest_cold(top, end);
        // Read first: the calls of the process fence below may push to this cell.
        let words = (answer == TakeBack::Taken).then(|| self.slot(end.previous()).load());
        self.rebias_if_due(step);
        // SAFETY: 1. the cell held what was pushed at this position; 2. `take_newest_cold` says
        // that the element is ours.
        words.map(|words| unsafe { H::Element::from_words(words) })
    }

    /// Finishes as [`pop_cold`](Self::pop_cold) does, without reading the element.
    #[cold]
    #[inline(never)]
    fn take_back_cold(&self, top: Top, end: Position) -> TakeBack {
        let (answer, step) = self.take_newest_cold(top, end);
        self.rebias_if_due(step);
        answer
    }

    /// Decides about the element before `end`, from where `bottom` was lowered, if a fence or an
    /// exchange is needed, or if there is no element. Also returns what the owner does after the
    /// pop.
    fn take_newest_cold(&self, mut top: Top, end: Position) -> (TakeBack, BudgetStep) {
        debug_assert_eq!(self.order, Order::Lifo);
        let mut step = BudgetStep::Continue;
        // `top` only grows, so an old value that says "empty" is right. Idle owners take no fence,
        // unless a thief waits for it.
        if !top.is_biased() && (top.position().distance_to(end) > 0 || top.mode() == Mode::Revoking)
        {
            (top, step) = self.load_top_after_fence();
        }
        // Thieves take only from below `bottom`, or lose the compare-exchange.
        let answer = if self.close_if_reached(&mut top, end) || self.claim_last(top, end) {
            TakeBack::Taken
        } else {
            TakeBack::Stolen
        };
        (answer, step)
    }

    /// Whether the element before `end` is the owner's without an exchange for it. If a batch could
    /// reach it, closes the deque to batches first. Updates `top`, which was read after the fence.
    fn close_if_reached(&self, top: &mut Top, end: Position) -> bool {
        let newest = end.previous();
        while top.position().distance_to(newest) > 0 {
            if !top.may_claim(newest) {
                return true;
            }
            match self.deque.top.close(*top) {
                Ok(()) => return true,
                // A thief was faster.
                Err(now) => *top = now,
            }
        }
        false
    }

    /// Returns `top` after a full fence, and what the owner does after the pop.
    #[inline]
    fn load_top_after_fence(&self) -> (Top, BudgetStep) {
        let deque = &*self.deque;
        // Ordering: pairs with the thief's fence in `Stealer`. Of two fences one comes first: if
        // ours, the thief sees the lower bottom and leaves the element alone; if the thief's, we
        // see every top that it saw and so count the elements right. With less, both could take
        // the same element: the store of `bottom` and the load below may otherwise change places.
        full_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        let step = match top.mode() {
            Mode::Revoking => {
                deque.top.answer();
                BudgetStep::Continue
            }
            Mode::Fenced | Mode::Open => self.rebias_budget.record_fenced_pop(top.position()),
            Mode::Biased => BudgetStep::Continue,
        };
        (top, step)
    }

    /// Asks the process fence for its price, if that is due, and may bias the deque.
    ///
    /// This is called at the end of a pop, since the process fence may use this deque.
    #[inline]
    fn rebias_if_due(&self, step: BudgetStep) {
        if step == BudgetStep::Continue {
            return;
        }
        let deque = &*self.deque;
        let was_answered = || deque.top.was_answered();
        if self
            .rebias_budget
            .rebias_or_restart(step, deque.shared.fence, was_answered)
        {
            self.bias();
        }
    }

    /// Biases a fenced deque. If a thief is faster, the budget is counted anew.
    fn bias(&self) {
        // Ordering: Relaxed, the exchange confirms it.
        let top = self.deque.top.load(Ordering::Relaxed);
        if top.is_fenced() && self.deque.top.bias(top) {
            self.rebias_budget.record_bias(true);
        }
    }

    /// Ends the bias of the deque, so that thieves take the remaining elements without a process
    /// fence, which the system may refuse.
    ///
    /// Intended for an owner that will not pop again while the deque holds elements, for example
    /// because its thread sleeps. If it pops anyway, it takes fences, until it has popped often
    /// enough to bias the deque anew. An owner that is dropped calls this itself.
    ///
    /// Costs a load, and an exchange if the deque is biased.
    ///
    /// # Examples
    /// ```
    /// let worker = deque_core::Worker::new_lifo();
    /// worker.push("left to thieves");
    /// worker.end_bias();
    /// assert!(worker.stealer().steal().is_success());
    /// ```
    pub fn end_bias(&self) {
        let deque = &*self.deque;
        loop {
            // Ordering: Relaxed; this owner alone biases the deque, and the exchange confirms the
            // rest.
            let top = deque.top.load(Ordering::Relaxed);
            match top.mode() {
                Mode::Fenced | Mode::Open => return,
                Mode::Biased => {
                    if deque.top.unbias(top) {
                        self.rebias_budget.record_bias(false);
                        return;
                    }
                }
                Mode::Revoking => {
                    // Ordering: as in `load_top_after_fence`: a thief that finds the answer sees
                    // every `bottom` that was written before it.
                    full_fence();
                    deque.top.answer();
                    return;
                }
            }
        }
    }

    /// Biases a fenced deque, as after many pops with a fence.
    #[cfg(test)]
    pub(in crate::deque) fn bias_now(&self) {
        self.bias();
    }

    /// Takes the last element, before the position `end`, if `top` stands at it and no thief is
    /// faster. Then the deque is empty. In both cases `bottom` returns to `end`.
    fn claim_last(&self, mut top: Top, end: Position) -> bool {
        let deque = &*self.deque;
        let newest = end.previous();
        let mut won = false;
        while !won && top.position() == newest {
            match deque.top.claim(top, 1) {
                Ok(()) => won = true,
                // A thief was faster, and its `top` ends the loop; or the mode has changed.
                Err(now) => top = now,
            }
        }
        if won {
            self.rebias_budget.record_own_claim(end);
        }
        deque.bottom.publish(end);
        won
    }

    /// Takes back an element that was pushed, if it is the newest, without reading it. This works
    /// only with a LIFO deque: the positions of a FIFO one are [`Position::NOWHERE`].
    ///
    /// Only the position identifies the element. If the owner has popped the element and pushed
    /// another at the same position, that one is taken. The same happens if positions have wrapped
    /// around since, as they do with 32 bits after 2²⁹ steps. If this is possible, call
    /// [`newest_is`](Self::newest_is) first.
    ///
    /// # Safety
    /// 1. The position is that of an element that this worker has pushed to a LIFO deque, or
    ///    [`Position::NOWHERE`]. So with a FIFO deque it never is one from
    ///    [`next_position`](Self::next_position).
    ///
    /// # Examples
    /// ```
    /// use deque_core::{TakeBack, Worker};
    ///
    /// let worker = Worker::new_lifo();
    /// let first = worker.try_push(1)?;
    /// let second = worker.try_push(2)?;
    /// // SAFETY: 1. both positions are from this worker's pushes.
    /// let take_back = |position| unsafe { worker.take_back(position) };
    /// assert_eq!(take_back(first), TakeBack::NotNewest);
    /// assert_eq!(take_back(second), TakeBack::Taken);
    /// # Ok::<(), deque_core::Full<i32>>(())
    /// ```
    #[inline]
    pub unsafe fn take_back(&self, position: Position) -> TakeBack
    where
        H::Element: Copy,
    {
        // Ordering: Relaxed, only the owner writes it.
        let end = self.deque.bottom.load(Ordering::Relaxed);
        let newest = end.previous();
        if position != newest {
            return TakeBack::NotNewest;
        }
        match self.try_take_newest(newest) {
            Ok(()) => TakeBack::Taken,
            Err(top) => self.take_back_cold(top, end),
        }
    }

    /// Whether the newest element is at this position, and `is_it` returns true for its words.
    ///
    /// # Examples
    /// ```
    /// use deque_core::Worker;
    ///
    /// let worker = Worker::new_lifo();
    /// worker.push(1_usize);
    /// let position = worker.try_push(2)?;
    /// assert_eq!(worker.pop(), Some(2));
    /// assert_eq!(worker.try_push(3)?, position);
    /// assert!(!worker.newest_is(position, |[word]| word.addr() == 2));
    /// assert!(worker.newest_is(position, |[word]| word.addr() == 3));
    /// # Ok::<(), deque_core::Full<usize>>(())
    /// ```
    pub fn newest_is(
        &self,
        position: Position,
        is_it: impl FnOnce(&<H::Element as Element>::Words) -> bool,
    ) -> bool {
        // Ordering: Relaxed, only the owner writes it.
        let end = self.deque.bottom.load(Ordering::Relaxed);
        // A thief may take it meanwhile. Its words stay where they are.
        position == end.previous() && !self.deque.is_empty() && is_it(&self.slot(position).load())
    }

    /// Takes the oldest element, whatever the order, as a thief does: by an exchange. The owner
    /// needs no fence for it, even if the deque is biased.
    ///
    /// Intended for an owner that takes its newest elements first, but must not leave any element
    /// forever.
    ///
    /// # Examples
    /// ```
    /// let worker = deque_core::Worker::new_lifo();
    /// (1..=3).for_each(|job| worker.push(job));
    /// assert_eq!(worker.pop(), Some(3));
    /// assert_eq!(worker.pop_oldest(), Some(1));
    /// assert_eq!((worker.pop(), worker.pop_oldest()), (Some(2), None));
    /// ```
    pub fn pop_oldest(&self) -> Option<H::Element> {
        let deque = &*self.deque;
        // Ordering: Relaxed, only the owner writes it.
        let bottom = deque.bottom.load(Ordering::Relaxed);
        loop {
            // Ordering: Relaxed, the compare-exchange confirms it. No fence: an owner that moves
            // `top`, as thieves do, does not lower `bottom`, and knows where that is.
            let top = deque.top.load(Ordering::Relaxed);
            if top.mode() == Mode::Revoking {
                self.answer_revocation();
            }
            let oldest = top.position();
            if oldest.distance_to(bottom) <= 0 {
                return None;
            }
            let words = self.slot(oldest).load();
            if deque.top.claim(top, 1).is_ok() {
                self.rebias_budget.record_own_claim(oldest.plus(1));
                // SAFETY: 1. the words were read while `top` stood at their position; 2. moving
                // `top` makes them ours.
                return Some(unsafe { H::Element::from_words(words) });
            }
        }
    }

    /// Answers a thief that revokes the bias, for an owner that has read the mode revoking and
    /// would not take a fence otherwise.
    #[cold]
    fn answer_revocation(&self) {
        // Ordering: makes every `bottom` visible that was written without a fence to a thief that
        // sees the answer and takes a fence, as in `load_top_after_fence`. Nothing weaker pairs
        // with that one.
        full_fence();
        self.deque.top.answer();
    }
}

/// The result of [`Worker::take_back`].
///
/// # Examples
/// ```
/// use deque_core::{Steal, TakeBack, Worker};
///
/// let worker = Worker::new_lifo();
/// let position = worker.try_push(1)?;
/// assert_eq!(worker.stealer().steal(), Steal::Success(1));
/// // SAFETY: 1. the position is from this worker's push.
/// assert_eq!(unsafe { worker.take_back(position) }, TakeBack::Stolen);
/// # Ok::<(), deque_core::Full<i32>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeBack {
    /// The element is the caller's again.
    Taken,
    /// A thief has it, or the owner has popped it as the last one. The deque is empty: thieves take
    /// the oldest.
    Stolen,
    /// The owner has pushed others since, which are newer, or has popped it.
    NotNewest,
}
