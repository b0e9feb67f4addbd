//! Delays by threads that are not managed: two counters that take turns.

use core::fmt;

use crossbeam_utils::CachePadded;

use super::{
    barrier::Barrier,
    state::SharedState,
    value::{next, parity},
};
use crate::primitive::{AtomicUsize, Ordering, RawWord};

/// Set in a counter when progress has waited for it: the thread that brings the counter to zero
/// must see to it that progress goes on.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// Delays by threads that are not managed.
///
/// A delay counts in the counter of the value that is current when it begins: one counter for even
/// values, the other one for odd values. An advance needs the counter of the *next* value to be
/// zero, which is also that of the value before. So a delay lets one advance pass and stops the
/// second, and since new delays count elsewhere, the counter that is waited for only falls.
///
/// The counter is a function of the value, and a delay compares the whole value when it looks a
/// second time. With a turn of its own, one bit, a delay would not notice that two advances passed
/// between its looks.
pub(super) struct Delays {
    counters: [CachePadded<AtomicUsize>; 2],
}

impl Delays {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                counters: [
                    CachePadded::new(AtomicUsize::new(0)),
                    CachePadded::new(AtomicUsize::new(0)),
                ],
            }
        }
    }

    /// Begins a delay, and tells which counter has it. `end` is called for a counter that was the
    /// wrong one.
    #[inline]
    pub(super) fn begin<B: Barrier>(&self, state: &SharedState, end: impl Fn(usize)) -> usize {
        loop {
            let current = state.load().value();
            let index = parity(current);
            // Ordering: Relaxed; the fence orders it before the second look.
            self.counters[index].fetch_add(1, Ordering::Relaxed);
            // Ordering: pairs with the leader's heavy fence after its advance to `current + 1`:
            // either the scan for `current + 2` sees our count, or the second look sees that
            // advance. Also with the full fence of `later`, see "Why no reader is overtaken".
            B::light();
            if state.load().value() == current {
                return index;
            }
            end(index);
        }
    }

    /// Ends a delay. True if progress has waited for it, and can go on.
    #[inline]
    #[must_use]
    pub(super) fn end(&self, index: usize) -> bool {
        // Ordering: Release pairs with `let_pass`: what was read during the delay lies before what
        // the advance allows. What the thread that set the mark has asked for is ordered by heavy
        // fences: its own, before the mark, and that of the caller after this.
        self.counters[index].fetch_sub(1, Ordering::Release) == AWAITED | 1
    }

    /// Whether no delay stands in the way of the advance from `current`. By the leader; if one
    /// does, its end will be told.
    pub(super) fn let_pass(&self, current: RawWord) -> bool {
        let counter = &self.counters[parity(next(current))];
        // Ordering: Acquire pairs with `end`, here and below; the counts between are
        // read-modify-writes, so all ends are received.
        if counter.load(Ordering::Acquire) == 0 {
            return true;
        }
        if counter.fetch_or(AWAITED, Ordering::Acquire) & !AWAITED != 0 {
            return false;
        }
        // Ordering: Relaxed, the mark carries nothing.
        counter.fetch_and(!AWAITED, Ordering::Relaxed);
        true
    }

    /// Whether a delay stands in the way of the advance from `current` and its end will be told.
    /// By any thread.
    pub(super) fn are_awaited(&self, current: RawWord) -> bool {
        // Ordering: Relaxed; the fence before orders it (`drive`).
        let count = self.counters[parity(next(current))].load(Ordering::Relaxed);
        count & AWAITED != 0 && count != AWAITED
    }

    /// How many delays let the next advance pass, and how many do not. Debug output only.
    pub(super) fn counts(&self, current: RawWord) -> impl fmt::Debug {
        // Ordering: Relaxed; debug output only.
        let count = |value| self.counters[parity(value)].load(Ordering::Relaxed) & !AWAITED;
        Counts {
            current: count(current),
            awaited: count(next(current)),
        }
    }
}

#[derive(Debug)]
#[expect(dead_code, reason = "debug output only")]
struct Counts {
    current: usize,
    awaited: usize,
}
