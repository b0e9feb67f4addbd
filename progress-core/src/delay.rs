//! Delays by threads that have no participant: pairs of counters that take turns.

use core::fmt;

use crossbeam_utils::CachePadded;
use sleep_primitives::{AtomicUsize, Ordering, RawWord};

use crate::{
    AsymmetricFence, Domain, Progress,
    moment::{next, parity},
    state::SharedState,
};

impl<D: Domain> Progress<D> {
    /// Delays progress, so that a thread which is not managed may read. Any number of threads may
    /// delay, any number of times. The guard should be dropped soon.
    ///
    /// Costs two read-modify-writes on one of a few cache lines that all such threads share. A
    /// thread that reads often should use a [`Reader`](crate::Reader), which touches only its own
    /// cache line.
    ///
    /// # Panics
    /// On targets with less than 64 bits, panics if about a billion delays were forgotten.
    #[doc(alias = "thread_progress_unmanaged_delay")]
    #[inline]
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
    fn end_delay(&self, counter: CounterIndex) {
        if self.delays.end(counter) {
            self.advance_after_delay();
        }
    }

    #[cold]
    fn advance_after_delay(&self) {
        // Ordering: pairs with the heavy fence in `advance_while_needed` of a leader that stops:
        // either the leader sees that the delay has ended, or this thread finds the leadership
        // free. If there is no fence, there is no progress either.
        let _ = D::Fence::heavy();
        self.advance_while_needed();
    }
}

/// Delays progress while it lives. Created by [`Progress::delay`].
///
/// # Examples
/// ```
/// use progress_core::{Parker, Participant, Progress};
/// struct Core;
/// impl Parker for Core {
///     fn park(&self) {}
///     fn unpark(&self) {}
/// }
///
/// let participants = [const { Participant::new(Core) }; 1];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// let moment = progress.later();
/// {
///     let _delay = progress.delay(); // any thread, without a participant
///     // ... reads of shared structures ...
/// }
/// assert!(progress.has_reached(moment));
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[must_use = "the delay ends when the guard is dropped"]
pub struct Delay<'p, D: Domain> {
    progress: &'p Progress<D>,
    counter: CounterIndex,
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

/// Marks a counter that progress has waited for. The thread that brings a marked counter to zero
/// must make progress.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// Whether a program could forget so many delays that a counter reaches its mark, which would hide
/// a delay that lives. With 64 bits, that takes centuries.
const CAN_OVERFLOW: bool = usize::BITS < 64;

/// The number of delays that one counter counts. Those above it, up to the mark, are of threads
/// that find too many and take their own back.
const LIMIT: usize = AWAITED / 2;

/// The number of pairs of counters. Models have one, because each further pair is only more to
/// explore.
const PAIRS: usize = match cfg!(loom) {
    true => 1,
    false => usize::BITS as usize / 8,
};

/// The counters of delays.
///
/// A delay counts in the counter of the value that is current when the delay begins: one counter
/// for even values, the other one for odd values. An advance needs the counter of the *next* value
/// to be zero, which is also the counter of the value before. So a delay lets one advance pass and
/// stops the second one. New delays count in the other counter, so the one that is waited for only
/// falls.
///
/// There are several such pairs, each on a cache line of its own, so that threads on different
/// stacks seldom write the same cache line. What is said of a pair is true for each of them; an
/// advance needs all.
///
/// The counter is a function of the value, and a delay compares the whole value when it looks a
/// second time. With one bit that flips, a delay would not notice that two advances passed between
/// its looks.
pub(crate) struct Delays {
    pairs: [CachePadded<Pair>; PAIRS],
}

/// The counters of even and odd values.
struct Pair([AtomicUsize; 2]);

/// The counter of one delay.
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

    /// Begins a delay and returns the counter that has it. Calls `end` for a counter that was the
    /// wrong one.
    #[inline]
    fn begin<F: AsymmetricFence>(
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
            let before = self.pairs[pair].0[parity].fetch_add(1, Ordering::Relaxed);
            if CAN_OVERFLOW && before & !AWAITED >= LIMIT {
                end(index);
                panic!("too many forgotten delays");
            }
            // Ordering: pairs with the leader's heavy fence after its advance to `current + 1`:
            // either the scan for `current + 2` sees the count, or the second look sees that
            // advance. Also with the full fence of `later`, see "Why no reader is overtaken".
            F::light();
            if state.load().value() == current {
                return index;
            }
            end(index);
        }
    }

    /// Ends a delay. Returns true if progress has waited for it and can go on.
    #[inline]
    #[must_use]
    fn end(&self, index: CounterIndex) -> bool {
        // Ordering: Release pairs with `try_pass`: what was read during the delay happens before
        // what the advance allows. Heavy fences order what the thread that set the mark has
        // requested: its own, before the mark, and that of the caller after this.
        self.pairs[index.pair].0[index.parity].fetch_sub(1, Ordering::Release) == AWAITED | 1
    }

    /// Whether no delay stands in the way of the advance from `current`. If one does, it is marked,
    /// so that its end makes progress. Only the leader may call this.
    pub(crate) fn try_pass(&self, current: RawWord) -> bool {
        let parity = parity(next(current));
        self.pairs.iter().all(|pair| pair.try_pass(parity))
    }

    /// Whether a marked delay stands in the way of the advance from `current`. Any thread may call
    /// this.
    pub(crate) fn are_awaited(&self, current: RawWord) -> bool {
        let parity = parity(next(current));
        self.pairs.iter().any(|pair| {
            // Ordering: Relaxed; the fence before orders it (`advance_while_needed`).
            let count = pair.0[parity].load(Ordering::Relaxed);
            count & AWAITED != 0 && count != AWAITED
        })
    }

    /// Adds to all counters, as that many forgotten delays do.
    #[cfg(all(test, not(loom), not(target_pointer_width = "64")))]
    pub(crate) fn add_to_all(&self, count: usize) {
        for counter in self.pairs.iter().flat_map(|pair| &pair.0) {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Returns the number of delays that let the next advance pass and of those that do not. Debug
    /// output only.
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

impl Pair {
    const_unless_loom! {
        fn new() -> Self {
            Self([AtomicUsize::new(0), AtomicUsize::new(0)])
        }
    }

    fn try_pass(&self, parity: usize) -> bool {
        let counter = &self.0[parity];
        // Ordering: Acquire pairs with `end`, here and below. The counts between are
        // read-modify-writes, so all ends are received.
        if counter.load(Ordering::Acquire) == 0 {
            return true;
        }
        if counter.fetch_or(AWAITED, Ordering::Acquire) & !AWAITED != 0 {
            return false;
        }
        // Ordering: Relaxed; the mark publishes nothing.
        counter.fetch_and(!AWAITED, Ordering::Relaxed);
        true
    }
}

/// Returns the pair that a thread uses. Threads with different stacks mostly use different pairs.
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

#[derive(Debug)]
#[expect(dead_code, reason = "debug output only")]
struct Counts {
    current: usize,
    awaited: usize,
}
