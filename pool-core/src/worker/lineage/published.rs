//! The lineage of a worker as all workers see it.

use core::fmt;

use deque_core::Position;

use super::{Lineage, Theft};
use crate::{
    isolation::Isolation,
    primitive::{AtomicUsize, Ordering, fence},
};

/// The [`Lineage`] of a worker, which only that worker writes and all workers read.
///
/// A sequence lock: a reader that comes in the middle of a change learns nothing.
pub(crate) struct PublishedLineage {
    /// Odd in the middle of a change.
    version: AtomicUsize,
    /// The victim's number plus one, or zero, above the two bits of the isolation.
    victim_and_isolation: AtomicUsize,
    position: AtomicUsize,
    begin: AtomicUsize,
    isolated_from: AtomicUsize,
}

const ISOLATION_BITS: u32 = 2;

impl PublishedLineage {
    const_unless_loom! {
        /// Creates the lineage of a worker that runs no stolen job.
        pub(in crate::worker) fn new() -> Self {
            Self {
                version: AtomicUsize::new(0),
                victim_and_isolation: AtomicUsize::new(0),
                position: AtomicUsize::new(0),
                begin: AtomicUsize::new(0),
                isolated_from: AtomicUsize::new(0),
            }
        }
    }

    /// Returns what the worker may run while it waits. Only for the worker itself.
    #[inline]
    pub(crate) fn isolation(&self) -> Isolation {
        // Ordering: Relaxed; this thread has written it, or the one that was the worker before.
        Self::isolation_in(self.victim_and_isolation.load(Ordering::Relaxed))
    }

    /// Returns what the worker may run while it waits, and whether this also applies to the job
    /// that it has pushed at a position. For a thief that has acquired the push of that job, which
    /// is not a detached job.
    #[inline]
    pub(crate) fn isolation_at(&self, position: Position) -> (Isolation, bool) {
        // Ordering: Acquire pairs with the Release of `publish`. The push of an isolated job comes
        // after that `publish`, so a thief sees the isolation in any case. But a thief that sees an
        // isolation that began after the push must also see from which position on it applies.
        let isolation = Self::isolation_in(self.victim_and_isolation.load(Ordering::Acquire));
        let is_isolated = isolation != Isolation::Anything && {
            // Ordering: Relaxed, after the Acquire.
            let from = self.isolated_from.load(Ordering::Relaxed);
            position.is_at_or_after(Position::from_word(from))
        };
        (isolation, is_isolated)
    }

    fn isolation_in(word: usize) -> Isolation {
        Isolation::from_bits(word & ((1 << ISOLATION_BITS) - 1))
    }

    /// Returns the stolen job that the worker runs, if it is isolated. In the middle of a change,
    /// the result is arbitrary.
    pub(in crate::worker) fn theft(&self) -> Option<Theft> {
        self.own().theft
    }

    /// Returns the lineage as the worker itself has published it.
    pub(super) fn own(&self) -> Lineage {
        // Ordering: Relaxed; this thread has written it, or the one that was the worker before.
        let [word, position, begin, isolated_from] = [
            &self.victim_and_isolation,
            &self.position,
            &self.begin,
            &self.isolated_from,
        ]
        .map(|it| it.load(Ordering::Relaxed));
        let victim = (word >> ISOLATION_BITS).checked_sub(1);
        Lineage {
            theft: victim.map(|victim| Theft {
                victim,
                position: Position::from_word(position),
            }),
            begin: Position::from_word(begin),
            isolation: Self::isolation_in(word),
            isolated_from: Position::from_word(isolated_from),
        }
    }

    /// Returns the lineage of another worker, or `None` in the middle of a change.
    pub(super) fn read(&self) -> Option<Lineage> {
        // Ordering: Acquire pairs with the Release at the end of `publish`.
        let version = self.version.load(Ordering::Acquire);
        let lineage = self.own();
        // Ordering: pairs with the fence of `publish`. If a read above saw a later change, the read
        // below sees the odd version of that change. A weaker fence would let the read below come
        // first.
        fence(Ordering::Acquire);
        // Ordering: Relaxed, after the fence.
        let is_consistent =
            version.is_multiple_of(2) && self.version.load(Ordering::Relaxed) == version;
        is_consistent.then_some(lineage)
    }

    /// Publishes another lineage. Only the worker calls this.
    pub(super) fn publish(&self, lineage: Lineage) {
        let (victim, position) = lineage.theft.map_or((0, 0), |theft| {
            (theft.victim + 1, theft.position.into_word())
        });
        let word = victim << ISOLATION_BITS | lineage.isolation.into_bits();
        let isolated_from = lineage.isolated_from.into_word();
        // Ordering: Relaxed; only this worker writes it.
        let before = self.victim_and_isolation.load(Ordering::Relaxed);
        if victim == 0 && before >> ISOLATION_BITS == 0 {
            // No reader uses the start of a lineage without a theft. Neither this lineage nor the
            // one before has a theft, so calls from outside need no new version.
            //
            // Ordering: Relaxed, before the Release.
            self.isolated_from.store(isolated_from, Ordering::Relaxed);
            // Ordering: Release pairs with the Acquire of `isolation_at`, for the position above.
            self.victim_and_isolation.store(word, Ordering::Release);
            // Ordering: Relaxed; only this worker reads it.
            self.begin
                .store(lineage.begin.into_word(), Ordering::Relaxed);
            return;
        }
        // Ordering: Relaxed; only this worker writes it.
        let version = self.version.load(Ordering::Relaxed);
        // Ordering: Relaxed, before the fence, which pairs with that of `read`. Nothing weaker than
        // Release keeps the odd version before the values.
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        // Ordering: Relaxed, after the fence and before the Releases.
        self.isolated_from.store(isolated_from, Ordering::Relaxed);
        // Ordering: Release, as above.
        self.victim_and_isolation.store(word, Ordering::Release);
        // Ordering: Relaxed, as before.
        self.position.store(position, Ordering::Relaxed);
        self.begin
            .store(lineage.begin.into_word(), Ordering::Relaxed);
        // Ordering: Release pairs with the Acquire of `read`, for the values, and for the push of
        // the stolen job, which this thread has acquired.
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
    }
}

impl fmt::Debug for PublishedLineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}
