//! The count of sleepers, which may be negative.

use core::fmt;

use crate::primitive::{AtomicUsize, Ordering};

/// How many workers are registered as sleepers and not yet taken by a notifier. Negative: how many
/// notifications have come before their sleepers.
///
/// A notifier that takes a unit *owns* it: it must spend it on the registration of one worker. So
/// the count is lowered before a worker is chosen, and several notifiers never aim at the same
/// sleeper.
pub(super) struct SleeperCount {
    /// A two's complement number.
    units: AtomicUsize,
}

impl SleeperCount {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self { units: AtomicUsize::new(0) }
        }
    }

    /// Whether any unit can be taken.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.get() > 0
    }

    #[inline]
    pub(super) fn get(&self) -> isize {
        // Ordering: Relaxed: a caller that must see a certain registration fences before.
        self.units.load(Ordering::Relaxed).cast_signed()
    }

    /// Counts one more sleeper. Returns false if a notification came first, which this call has
    /// consumed: then the worker is not counted.
    pub(super) fn register(&self) -> bool {
        // Ordering: AcqRel. Release: a notifier that takes the unit finds the slot open
        // (`HintSlot::enter`). Acquire: after a notification that came first, the worker
        // sees the job that was announced.
        self.units.fetch_add(1, Ordering::AcqRel).cast_signed() >= 0
    }

    /// Takes up to `wanted` units. Returns how many; the caller must spend them.
    pub(super) fn take(&self, wanted: usize) -> usize {
        self.lower(|units| {
            let taken = wanted.min(units.max(0).cast_unsigned());
            (units - taken.cast_signed(), taken)
        })
    }

    /// Takes up to `wanted` units, and leaves a notification for each that is not there: to the
    /// next workers that register, but to no more than there are workers. Returns how many
    /// units were taken.
    pub(super) fn take_or_leave(&self, wanted: usize, workers: usize) -> usize {
        // A number of workers is at most `isize::MAX`, which `Hints` checks.
        let lowest = -workers.cast_signed();
        let wanted = isize::try_from(wanted).unwrap_or(isize::MAX);
        self.lower(|units| {
            let taken = wanted.min(units.max(0)).cast_unsigned();
            (units.saturating_sub(wanted).max(lowest), taken)
        })
    }

    /// Stores the number that a closure computes of the present one, with a second number that is
    /// returned.
    ///
    /// By compare-exchange: two notifiers that subtract first and correct later could both see the
    /// sum of what is too much, and both add it back.
    #[inline]
    fn lower(&self, compute: impl Fn(isize) -> (isize, usize)) -> usize {
        let mut units = self.get();
        loop {
            let (lowered, taken) = compute(units);
            if lowered == units {
                return 0;
            }
            // Ordering: AcqRel. Acquire pairs with `register`: the slot of each worker that is
            // counted is open for us, at the first look. Release pairs with `register` too: a
            // worker that finds a notification sees the job; the fence of `notify_anywhere` alone
            // would do. Relaxed on failure: the number is tried again.
            let exchanged = self.units.compare_exchange_weak(
                units.cast_unsigned(),
                lowered.cast_unsigned(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return taken,
                Err(now) => units = now.cast_signed(),
            }
        }
    }
}

impl fmt::Debug for SleeperCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}
