//! A ring of records that one thread writes and any thread reads.

use crate::{
    metrics::Counter,
    primitive::{AtomicPtr, AtomicUsize, Ordering, fence},
};

/// Room for one event of a [`Tracer`](super::Tracer).
///
/// # Examples
/// ```
/// use pool_core::trace::TraceSlot;
///
/// static SLOTS: [TraceSlot; 64] = [const { TraceSlot::new() }; 64];
/// assert_eq!(SLOTS.len(), 64);
/// ```
pub struct TraceSlot {
    time: Counter,
    what: AtomicUsize,
    number: AtomicUsize,
    name: AtomicPtr<()>,
}

impl TraceSlot {
    const_unless_loom! {
        /// Creates an empty slot.
        #[must_use]
        pub fn new() -> Self {
            Self {
                time: Counter::new(),
                what: AtomicUsize::new(0),
                number: AtomicUsize::new(0),
                name: AtomicPtr::new(core::ptr::null_mut()),
            }
        }
    }
}

impl Default for TraceSlot {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for TraceSlot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("TraceSlot").finish_non_exhaustive()
    }
}

/// What one slot holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) time: u64,
    pub(super) what: usize,
    pub(super) number: usize,
    /// Null, or a word of a name. No other word is ever here, so that a record may be read as any
    /// kind: two threads that write to one ring, which they must not, can only mix records.
    pub(super) name: *mut (),
}

/// The last records that one thread has written.
///
/// Like a sequence lock whose version is the number of records. The owner begins to overwrite the
/// record `n` when it has written `n + capacity` records. So a reader that has read the record `n`,
/// and then finds that fewer have been written, has read a whole one.
pub(super) struct Ring<S> {
    /// How many records have been written. On a target of 32 bits it wraps around.
    written: AtomicUsize,
    slots: S,
}

impl<S> Ring<S> {
    const_unless_loom! {
        pub(super) fn new(slots: S) -> Self {
            Self { written: AtomicUsize::new(0), slots }
        }
    }
}

impl<S: AsRef<[TraceSlot]>> Ring<S> {
    /// Returns the slots that are used: a power of two, so that the number of records may wrap
    /// around.
    #[inline]
    fn slots(&self) -> &[TraceSlot] {
        let slots = self.slots.as_ref();
        match slots.len().checked_ilog2() {
            Some(log2) => &slots[..1 << log2],
            None => &[],
        }
    }

    /// Whether there is no room for any record.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.as_ref().is_empty()
    }

    /// Writes a record. Only for the owner.
    #[inline]
    pub(super) fn push(&self, record: Record) {
        let slots = self.slots();
        // Ordering: Relaxed; the owner alone writes it.
        let written = self.written.load(Ordering::Relaxed);
        let Some(slot) = slots.get(written & slots.len().wrapping_sub(1)) else {
            return;
        };
        // Ordering: pairs with the fence in `read`. A reader that sees any of the stores below sees
        // that `written` records have been written, and gives up the record that was here.
        fence(Ordering::Release);
        slot.time.set(record.time);
        // Ordering: Relaxed for all three, `written` publishes them.
        slot.what.store(record.what, Ordering::Relaxed);
        slot.number.store(record.number, Ordering::Relaxed);
        // A reader may make a name of the word. It stands for a constant, so nothing else must be
        // visible with it.
        slot.name.store(record.name, Ordering::Relaxed);
        // Ordering: Release pairs with `written`: a reader that sees the number sees the record.
        self.written
            .store(written.wrapping_add(1), Ordering::Release);
    }

    /// Returns how many records have been written.
    pub(super) fn written(&self) -> usize {
        // Ordering: Acquire pairs with the last store of `push`.
        self.written.load(Ordering::Acquire)
    }

    /// Returns the number of the oldest record that can be read if `written` have been written.
    pub(super) fn oldest(&self, written: usize) -> usize {
        // The owner may be in the middle of overwriting one.
        let readable = self.slots().len().saturating_sub(1);
        if cfg!(target_pointer_width = "64") {
            written.saturating_sub(readable)
        } else if self.has_wrapped(written) {
            written.wrapping_sub(readable)
        } else {
            0
        }
    }

    /// Whether more records have been written than can be read. The last slot is unused until then.
    fn has_wrapped(&self, written: usize) -> bool {
        let slots = self.slots();
        // Ordering: Relaxed; a kind is not zero, and `written` was acquired.
        let is_used = |slot: &TraceSlot| slot.what.load(Ordering::Relaxed) != 0;
        written >= slots.len() || slots.last().is_some_and(is_used)
    }

    /// Returns the record with a number below [`written`](Self::written), unless it has been
    /// overwritten.
    pub(super) fn read(&self, number: usize) -> Option<Record> {
        let slots = self.slots();
        let slot = slots.get(number & slots.len().wrapping_sub(1))?;
        let record = Record {
            time: slot.time.get(),
            // Ordering: Relaxed for all three. The caller has acquired the number of records, and
            // the fence below finds newer ones.
            what: slot.what.load(Ordering::Relaxed),
            number: slot.number.load(Ordering::Relaxed),
            name: slot.name.load(Ordering::Relaxed),
        };
        // Ordering: pairs with the fence in `push`: if any of the above is of a newer record, the
        // number below says so.
        fence(Ordering::Acquire);
        let written = self.written.load(Ordering::Relaxed);
        (written.wrapping_sub(number) < slots.len()).then_some(record)
    }
}
