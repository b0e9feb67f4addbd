//! Delays by threads that are not managed: pairs of counters that take turns.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::{
    AsymmetricFence,
    moment::{next, parity},
    state::SharedState,
};
use sleep_primitives::{AtomicUsize, Ordering, RawWord};

/// Set in a counter when progress has waited for it: the thread that brings the counter to zero
/// must see to it that progress goes on.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// How many pairs of counters there are: one in models, where each pair more is only more to explore.
const PAIRS: usize = match cfg!(loom) {
    true => 1,
    false => usize::BITS as usize / 8,
};

/// Delays by threads that are not managed.
///
/// A delay counts in the counter of the value that is current when it begins: one counter for even
/// values, the other one for odd values. An advance needs the counter of the *next* value to be
/// zero, which is also that of the value before. So a delay lets one advance pass and stops the
/// second, and since new delays count elsewhere, the counter that is waited for only falls.
///
/// There are several such pairs, each on a line of its own, so that threads on different stacks
/// seldom write the same line. What is said of a pair is true for each of them; an advance needs all.
///
/// The counter is a function of the value, and a delay compares the whole value when it looks a
/// second time. With a turn of its own, one bit, a delay would not notice that two advances passed
/// between its looks.
pub(crate) struct Delays {
    pairs: [CachePadded<Pair>; PAIRS],
}

/// The counters of even and odd values.
struct Pair([AtomicUsize; 2]);

/// Where a delay is counted.
#[derive(Clone, Copy)]
pub(crate) struct CounterIndex {
    pair: usize,
    parity: usize,
}

impl Delays {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            #[cfg(not(loom))]
            let pairs = [const { CachePadded::new(Pair::new()) }; PAIRS];
            #[cfg(loom)]
            let pairs = [(); PAIRS].map(|()| CachePadded::new(Pair::new()));
            Self { pairs }
        }
    }

    /// Begins a delay, and tells which counter has it. `end` is called for a counter that was the
    /// wrong one.
    #[inline]
    pub(crate) fn begin<F: AsymmetricFence>(
        &self,
        state: &SharedState,
        end: impl Fn(CounterIndex),
    ) -> CounterIndex {
        let pair = pair_of_this_stack();
        loop {
            let current = state.load().value();
            let parity = parity(current);
            let index = CounterIndex { pair, parity };
            // Ordering: Relaxed; the fence orders it before the second look.
            self.pairs[pair].0[parity].fetch_add(1, Ordering::Relaxed);
            // Ordering: pairs with the leader's heavy fence after its advance to `current + 1`:
            // either the scan for `current + 2` sees our count, or the second look sees that
            // advance. Also with the full fence of `later`, see "Why no reader is overtaken".
            F::light();
            if state.load().value() == current {
                return index;
            }
            end(index);
        }
    }

    /// Ends a delay. True if progress has waited for it, and can go on.
    #[inline]
    #[must_use]
    pub(crate) fn end(&self, index: CounterIndex) -> bool {
        // Ordering: Release pairs with `try_pass`: what was read during the delay lies before what
        // the advance allows. What the thread that set the mark has asked for is ordered by heavy
        // fences: its own, before the mark, and that of the caller after this.
        self.pairs[index.pair].0[index.parity].fetch_sub(1, Ordering::Release) == AWAITED | 1
    }

    /// Whether no delay stands in the way of the advance from `current`. By the leader; if one
    /// does, its end will be told.
    pub(crate) fn try_pass(&self, current: RawWord) -> bool {
        let parity = parity(next(current));
        self.pairs.iter().all(|pair| pair.try_pass(parity))
    }

    /// Whether a delay stands in the way of the advance from `current` and its end will be told.
    /// By any thread.
    pub(crate) fn are_awaited(&self, current: RawWord) -> bool {
        let parity = parity(next(current));
        self.pairs.iter().any(|pair| {
            // Ordering: Relaxed; the fence before orders it (`advance_while_needed`).
            let count = pair.0[parity].load(Ordering::Relaxed);
            count & AWAITED != 0 && count != AWAITED
        })
    }

    /// How many delays let the next advance pass, and how many do not. Debug output only.
    pub(crate) fn counts(&self, current: RawWord) -> impl fmt::Debug {
        let count = |value| {
            // Ordering: Relaxed; debug output only.
            let load = |pair: &CachePadded<Pair>| pair.0[parity(value)].load(Ordering::Relaxed);
            self.pairs.iter().map(|pair| load(pair) & !AWAITED).sum()
        };
        Counts {
            current: count(current),
            awaited: count(next(current)),
        }
    }
}

/// The pair that a thread uses here: threads with different stacks mostly use different pairs.
#[inline]
fn pair_of_this_stack() -> usize {
    /// A stack that is smaller than this may share its pair with its neighbor.
    const STACK: usize = 1 << 12;
    /// Spreads neighbors: the golden ratio.
    const FACTOR: usize = (0x9E37_79B9_7F4A_7C15_u64 >> (64 - usize::BITS)) as usize;
    if PAIRS == 1 {
        return 0;
    }
    let here = 0_u8;
    let stack = (&raw const here).addr() / STACK;
    stack.wrapping_mul(FACTOR) / (usize::MAX / PAIRS + 1)
}

impl Pair {
    const_unless_loom! {
        fn new() -> Self {
            Self([AtomicUsize::new(0), AtomicUsize::new(0)])
        }
    }

    fn try_pass(&self, parity: usize) -> bool {
        let counter = &self.0[parity];
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
}

#[derive(Debug)]
#[expect(dead_code, reason = "debug output only")]
struct Counts {
    current: usize,
    awaited: usize,
}
