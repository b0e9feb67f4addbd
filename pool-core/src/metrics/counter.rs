//! Numbers that one thread counts up and any thread reads.

#[cfg(any(test, not(any(loom, target_has_atomic = "64"))))]
use crate::primitive::AtomicU32;
#[cfg(any(loom, target_has_atomic = "64"))]
use crate::primitive::AtomicU64;
use crate::primitive::Ordering;

/// A number of 64 bits that only its owner changes, and never lowers.
///
/// The owner needs no read-modify-write. Readers wait for nothing, so an interrupt handler on the
/// owner's core may be one.
#[cfg(any(loom, target_has_atomic = "64"))]
pub(crate) type Counter = WholeCounter;
/// A number of 64 bits that only its owner changes, and never lowers.
#[cfg(not(any(loom, target_has_atomic = "64")))]
pub(crate) type Counter = SplitCounter;

/// A [`Counter`] in one word of 64 bits.
#[cfg(any(loom, target_has_atomic = "64"))]
pub(crate) struct WholeCounter(AtomicU64);

#[cfg(any(loom, target_has_atomic = "64"))]
impl WholeCounter {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Adds to the number. Only for the owner.
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        self.set(self.get().wrapping_add(amount));
    }

    /// Changes the number to one that is not lower. Only for the owner.
    #[inline]
    pub(crate) fn set(&self, value: u64) {
        // Ordering: Relaxed, a plain counter.
        self.0.store(value, Ordering::Relaxed);
    }

    /// Returns the number.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // Ordering: Relaxed, a plain counter.
        self.0.load(Ordering::Relaxed)
    }
}

/// A [`Counter`] for targets whose atomics have 32 bits.
///
/// The owner writes the high half, then the low one, then the high one again; readers go the other
/// way. A reader that finds both high halves equal has the low half that belongs to them. Otherwise
/// the number has just passed a multiple of 2³², and the reader returns that.
///
/// Source: L. Lamport, *Concurrent reading and writing* (1977).
#[cfg(any(test, not(any(loom, target_has_atomic = "64"))))]
pub(crate) struct SplitCounter {
    high: AtomicU32,
    low: AtomicU32,
    high_again: AtomicU32,
}

#[cfg(any(test, not(any(loom, target_has_atomic = "64"))))]
impl SplitCounter {
    const_unless_loom! {
        pub(crate) fn new() -> Self {
            Self {
                high: AtomicU32::new(0),
                low: AtomicU32::new(0),
                high_again: AtomicU32::new(0),
            }
        }
    }

    /// Adds to the number. Only for the owner.
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        // Ordering: Relaxed, the owner reads what it wrote itself.
        let (high, low) = (
            self.high.load(Ordering::Relaxed),
            self.low.load(Ordering::Relaxed),
        );
        self.set(full_width(high, low).wrapping_add(amount));
    }

    /// Changes the number to one that is not lower. Only for the owner.
    #[inline]
    pub(crate) fn set(&self, value: u64) {
        let [high, low] = halves(value);
        // Ordering: Relaxed, the owner reads what it wrote itself.
        if high == self.high.load(Ordering::Relaxed) {
            // Ordering: Release pairs with `get`: a reader of this low half sees its high half.
            self.low.store(low, Ordering::Release);
            return;
        }
        // Ordering: Relaxed for the first store, which the next one releases. Release for the
        // others pairs with `get`.
        self.high.store(high, Ordering::Relaxed);
        self.low.store(low, Ordering::Release);
        self.high_again.store(high, Ordering::Release);
    }

    /// Returns the number.
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // Ordering: Acquire pairs with `set`. A reader of a high half that was written last sees
        // the low half that came before it, or a later one; and with a later one its high
        // half, which differs.
        let before = self.high_again.load(Ordering::Acquire);
        let low = self.low.load(Ordering::Acquire);
        // Ordering: Relaxed, nothing is read after it.
        let high = self.high.load(Ordering::Relaxed);
        full_width(high, if high == before { low } else { 0 })
    }
}

#[cfg(any(test, not(any(loom, target_has_atomic = "64"))))]
const fn full_width(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

#[cfg(any(test, not(any(loom, target_has_atomic = "64"))))]
const fn halves(value: u64) -> [u32; 2] {
    [(value >> 32) as u32, value as u32]
}
