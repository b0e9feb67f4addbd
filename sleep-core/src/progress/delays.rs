//! Delays by threads that are not managed: two counters that take turns.

use core::fmt;

use crossbeam_utils::CachePadded;

use super::barrier::Barrier;
use crate::primitive::{AtomicUsize, Ordering};

/// Set in a counter when progress has waited for it: whoever brings it to zero must see to it that
/// progress goes on.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// Delays by threads that are not managed.
///
/// A delay counts in the counter that is current when it begins. Each advance needs the other one
/// to be zero, and then makes it current. So a delay lets one advance pass and stops the second,
/// and since new delays count elsewhere, the counter that is waited for only falls.
pub(super) struct Delays {
    current: CachePadded<AtomicUsize>,
    counters: [CachePadded<AtomicUsize>; 2],
}

impl Delays {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                current: CachePadded::new(AtomicUsize::new(0)),
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
    pub(super) fn begin<B: Barrier>(&self, end: impl Fn(usize)) -> usize {
        loop {
            // Ordering: Acquire pairs with `turn`: who reads this turn has seen its value too.
            let index = self.current.load(Ordering::Acquire);
            // Ordering: Relaxed; the fence orders it before the second look.
            self.counters[index].fetch_add(1, Ordering::Relaxed);
            // Ordering: pairs with the heavy fence after `turn`: either that advance's successor
            // sees our count, or we see the turn.
            B::light();
            if self.current.load(Ordering::Acquire) == index {
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
        // the advance allows. Acquire pairs with the mark: whoever asked is seen.
        self.counters[index].fetch_sub(1, Ordering::AcqRel) == AWAITED | 1
    }

    /// Whether no delay stands in the way of an advance. By the leader; if one does, its end will
    /// be told.
    pub(super) fn let_pass(&self) -> bool {
        let counter = self.awaited();
        // Ordering: Acquire pairs with `end`, here and below; the counts between are
        // read-modify-writes, so all ends are received. Release, of the mark, tells the one who
        // finds it what was asked for.
        if counter.load(Ordering::Acquire) == 0 {
            return true;
        }
        if counter.fetch_or(AWAITED, Ordering::AcqRel) & !AWAITED != 0 {
            return false;
        }
        // Ordering: Relaxed, the mark carries nothing.
        counter.fetch_and(!AWAITED, Ordering::Relaxed);
        true
    }

    /// Whether a delay stands in the way whose end will be told. By anybody.
    pub(super) fn are_awaited(&self) -> bool {
        // Ordering: Relaxed; the fence before orders it (`drive`).
        let count = self.awaited().load(Ordering::Relaxed);
        count & AWAITED != 0 && count != AWAITED
    }

    /// Lets the counters change places. By the leader, after it has advanced.
    pub(super) fn turn(&self) {
        // Ordering: Relaxed, only the leader writes it. Release pairs with `begin`.
        let index = self.current.load(Ordering::Relaxed);
        self.current.store(1 - index, Ordering::Release);
    }

    fn awaited(&self) -> &AtomicUsize {
        // Ordering: Relaxed, only leaders write it, and leadership is handed on with a release.
        &self.counters[1 - self.current.load(Ordering::Relaxed)]
    }
}

impl fmt::Debug for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        let index = self.current.load(Ordering::Relaxed);
        let count = |index: usize| self.counters[index].load(Ordering::Relaxed) & !AWAITED;
        f.debug_struct("Delays")
            .field("current", &count(index))
            .field("awaited", &count(1 - index))
            .finish()
    }
}
