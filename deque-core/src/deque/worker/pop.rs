//! The owner's pops.

use super::Worker;
use crate::{
    deque::{
        Handle, Order, Position, TakeBack,
        bias::Due,
        top::{Mode, STEP, Top, distance},
    },
    element::{Element, Slot},
    primitive::{Ordering, full_fence, interruption_point, light_fence},
};

impl<H: Handle> Worker<H> {
    /// Takes the newest element (LIFO) or the oldest (FIFO).
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
        let newest = end.wrapping_sub(STEP);
        let top = self.lower(newest);
        if !top.leaves_to_owner(newest) {
            return self.pop_slowly(top, end);
        }
        // SAFETY: 1. the slot holds what was pushed at this position; 2. `top` says that it is ours.
        Some(unsafe { H::Element::from_words(self.slot(newest).load()) })
    }

    /// Lowers `bottom` to the position of the newest element, and then looks at `top`.
    #[inline]
    fn lower(&self, newest: usize) -> Top {
        let deque = &*self.deque;
        interruption_point();
        // A thief may read this value too, and then sees the elements before it.
        deque.bottom.publish(newest);
        // Ordering: orders the store above and the load below for a process fence of a thief, which
        // comes before or after it (`ProcessFence`).
        light_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        interruption_point();
        top
    }

    /// The rest of a pop that has lowered `bottom` from `end`, if the newest element is not simply the
    /// owner's.
    #[cold]
    #[inline(never)]
    fn pop_slowly(&self, top: Top, end: usize) -> Option<H::Element> {
        let (answer, due) = self.settle(top, end);
        // Before the process fence is asked for anything: it may push to this slot.
        let words = (answer == TakeBack::Taken).then(|| self.slot(end.wrapping_sub(STEP)).load());
        self.bias_if_due(due);
        // SAFETY: 1. the slot held what was pushed at this position; 2. `settle` says that it is ours.
        words.map(|words| unsafe { H::Element::from_words(words) })
    }

    /// As [`pop_slowly`](Self::pop_slowly), without reading the element.
    #[cold]
    #[inline(never)]
    fn take_back_slowly(&self, top: Top, end: usize) -> TakeBack {
        let (answer, due) = self.settle(top, end);
        self.bias_if_due(due);
        answer
    }

    /// Decides about the element before `end`, from where `bottom` was lowered, if a fence is needed,
    /// or an exchange, or if there is no element. Also tells what is to be done after that.
    fn settle(&self, mut top: Top, end: usize) -> (TakeBack, Due) {
        debug_assert_eq!(self.order, Order::Lifo);
        let mut due = Due::Nothing;
        // `top` only grows, so an old value that says "empty" is right. Idle owners take no fence,
        // unless a thief waits for it.
        if !top.is_biased() && (distance(top.position(), end) > 0 || top.mode() == Mode::Revoking) {
            (top, due) = self.top_after_fence();
        }
        // Thieves take only from below `bottom`, or lose the compare-exchange.
        let answer = if distance(top.position(), end) > 1 || self.take_last(top, end) {
            TakeBack::Taken
        } else {
            TakeBack::Stolen
        };
        (answer, due)
    }

    /// `top` after a full fence, and what is due then.
    #[inline]
    fn top_after_fence(&self) -> (Top, Due) {
        let deque = &*self.deque;
        // Ordering: pairs with the thief's fence in `Stealer`. Of two fences one comes first: if
        // ours, the thief sees the lower bottom and leaves the element alone; if the thief's, we
        // see every top that it saw and so count the elements right. With less, both could take
        // the same element: the store of `bottom` and the load below may otherwise change places.
        full_fence();
        // Ordering: Relaxed, the fence orders it.
        let top = deque.top.load(Ordering::Relaxed);
        let due = match top.mode() {
            Mode::Revoking => {
                deque.top.answer();
                Due::Nothing
            }
            Mode::Fenced => self.patience.note_pop(top.position()),
            Mode::Biased => Due::Nothing,
        };
        (top, due)
    }

    /// Asks the process fence for its price, if that is due, and may bias the deque.
    ///
    /// For the end of a pop: the process fence may use this deque.
    #[inline]
    fn bias_if_due(&self, due: Due) {
        if due == Due::Nothing {
            return;
        }
        let deque = &*self.deque;
        let is_answered = || deque.top.was_answered();
        let ends = self
            .patience
            .begin_or_end(due, deque.shared.fence, is_answered);
        if ends {
            self.bias();
        }
    }

    /// Biases a fenced deque. If a thief is faster, patience begins anew.
    fn bias(&self) {
        // Ordering: Relaxed, the exchange confirms it.
        let top = self.deque.top.load(Ordering::Relaxed);
        if top.mode() == Mode::Fenced {
            let _ = self.deque.top.bias(top);
        }
    }

    /// As after many pops with a fence.
    #[cfg(all(test, loom))]
    pub(in crate::deque) fn bias_now(&self) {
        self.bias();
    }

    /// Takes the last element, before the position `end`, if `top` is there and a thief is not
    /// faster; then there is none, and `bottom` goes back to `end`.
    fn take_last(&self, mut top: Top, end: usize) -> bool {
        let deque = &*self.deque;
        let newest = end.wrapping_sub(STEP);
        let mut won = false;
        while !won && top.position() == newest {
            match deque.top.claim(top, 1) {
                Ok(()) => won = true,
                // A thief was faster, and its `top` ends the loop; or the mode has changed.
                Err(now) => top = now,
            }
        }
        if won {
            self.patience.follow(end);
        }
        deque.bottom.publish(end);
        won
    }

    /// Takes back an element that was pushed, if it is the newest, without reading it. Only from a
    /// LIFO deque: the places of a FIFO one are [nowhere](Position::NOWHERE).
    ///
    /// It is told by its place alone: if the owner has popped it and pushed another to the same place,
    /// that one is taken. A caller that may have done so must know otherwise.
    ///
    /// # Safety
    /// 1. It is the place of an element that this worker has pushed, or nowhere.
    #[inline]
    pub unsafe fn take_back(&self, place: Position) -> TakeBack
    where
        H::Element: Copy,
    {
        // Ordering: Relaxed, only the owner writes it.
        let end = self.deque.bottom.load(Ordering::Relaxed);
        let newest = end.wrapping_sub(STEP);
        if !place.is_at(newest) {
            return TakeBack::NotNewest;
        }
        let top = self.lower(newest);
        if top.leaves_to_owner(newest) {
            TakeBack::Taken
        } else {
            self.take_back_slowly(top, end)
        }
    }

    fn pop_oldest(&self) -> Option<H::Element> {
        let deque = &*self.deque;
        // Ordering: Relaxed, only the owner writes it.
        let bottom = deque.bottom.load(Ordering::Relaxed);
        loop {
            // Ordering: Relaxed, the compare-exchange confirms it. No fence: a FIFO owner takes
            // elements by moving `top`, as thieves do, and never lowers `bottom`.
            let top = deque.top.load(Ordering::Relaxed);
            if distance(top.position(), bottom) <= 0 {
                return None;
            }
            let words = self.slot(top.position()).load();
            if deque.top.claim(top, 1).is_ok() {
                // SAFETY: 1. the words were read while `top` stood at their position; 2. moving
                // `top` makes them ours.
                return Some(unsafe { H::Element::from_words(words) });
            }
        }
    }
}
