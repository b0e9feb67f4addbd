//! A pair of counters of delays, which take turns.

use sleep_primitives::{AtomicUsize, Ordering, RawWord};

use crate::{AsymmetricFence, moment::parity, state::SharedState};

/// Marks a counter that progress has waited for. The thread that brings a marked counter to zero
/// must make progress.
const AWAITED: usize = 1 << (usize::BITS - 1);

/// Whether a program could forget so many delays that a counter reaches its mark, which would hide
/// a delay that lives. With 64 bits, that takes centuries.
const CAN_OVERFLOW: bool = usize::BITS < 64;

/// The number of delays that one counter counts. Those above it, up to the mark, are of threads
/// that find too many and take their own back.
const LIMIT: usize = AWAITED / 2;

/// The counters of even and odd values, for any number of delays at a time.
///
/// A delay counts in the counter of the value that is current when the delay begins. An advance
/// needs the counter of the *next* value to be zero, which is also the counter of the value before.
/// So a delay lets one advance pass and stops the second one. New delays count in the other
/// counter, so the one that is waited for only falls.
///
/// The counter is a function of the value, and a delay compares the whole value when it looks a
/// second time. With one bit that flips, a delay would not notice that two advances passed between
/// its looks.
pub(super) struct Counters([AtomicUsize; 2]);

impl Counters {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self([AtomicUsize::new(0), AtomicUsize::new(0)])
        }
    }

    /// Begins a delay, and returns the counter that has it. Calls `end` for a counter that was the
    /// wrong one.
    #[inline]
    pub(super) fn begin<F: AsymmetricFence>(
        &self,
        state: &SharedState,
        end: impl Fn(&AtomicUsize),
    ) -> &AtomicUsize {
        loop {
            let current = state.load().value();
            let counter = &self.0[parity(current)];
            // Ordering: Relaxed; the fence orders it before the second look.
            let before = counter.fetch_add(1, Ordering::Relaxed);
            if CAN_OVERFLOW && before & !AWAITED >= LIMIT {
                end(counter);
                panic!("too many forgotten delays");
            }
            // Ordering: pairs with the leader's heavy fence after its advance to `current + 1`:
            // either the scan for `current + 2` sees the count, or the second look sees that
            // advance. Also with the full fence of `later`, see "Why no reader is overtaken".
            F::light();
            if state.load().value() == current {
                return counter;
            }
            end(counter);
        }
    }

    /// Whether no delay stands in the way of the advance to `next`. If one does, its counter is
    /// marked, so that its end makes progress. Only the leader may call this.
    pub(super) fn try_pass(&self, next: RawWord) -> bool {
        let counter = &self.0[parity(next)];
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

    /// Whether a delay in a marked counter stands in the way of the advance to `next`.
    pub(super) fn are_awaited(&self, next: RawWord) -> bool {
        // Ordering: Relaxed; the fence before orders it (`lead_while_needed`).
        let count = self.0[parity(next)].load(Ordering::Relaxed);
        count & AWAITED != 0 && count != AWAITED
    }

    /// Returns the number of delays in the counter of a value. Debug output only.
    pub(super) fn count(&self, value: RawWord) -> usize {
        // Ordering: Relaxed; debug output only.
        self.0[parity(value)].load(Ordering::Relaxed) & !AWAITED
    }

    /// Adds to both counters, as that many forgotten delays do.
    #[cfg(all(test, not(loom), not(target_pointer_width = "64")))]
    pub(super) fn add(&self, count: usize) {
        for counter in &self.0 {
            counter.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// Ends a delay in a counter. Returns true if progress has waited for it and can go on.
#[must_use]
pub(super) fn end(counter: &AtomicUsize) -> bool {
    // Ordering: Release pairs with `try_pass`: what was read during the delay happens before what
    // the advance allows. Heavy fences order what the thread that set the mark has requested: its
    // own, before the mark, and that of the caller after this.
    counter.fetch_sub(1, Ordering::Release) == AWAITED | 1
}
