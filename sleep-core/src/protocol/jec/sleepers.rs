//! Which workers are asleep: a hint by which a waker finds one without a look at every slot.

use super::{slot::Slot, widths::Widths};
use crate::primitive::{AtomicU16, Ordering};

#[cfg(all(test, not(loom)))]
mod tests;

/// The number of workers that one word tells of.
const GROUP: usize = usize::BITS as usize;

/// The workers whose slots may be open, as one bit for each.
///
/// The words are in the slots of the first workers, so that they need no memory of their own,
/// whatever the number of workers. This value is beside the counters, on a line that a worker has
/// just written when it writes this.
///
/// The slot alone says whether a worker sleeps. The bits promise two things:
///
/// - The bit of an open slot is set. A worker sets its own before it opens the slot, and the thread
///   that has closed or claimed the slot clears it before the worker can set it again.
/// - The bit of a worker that queues jobs is clear, because others leave out the queues of workers
///   whose bits are set.
///
/// No operation waits or fails, so an interrupt handler may call all of them.
pub(super) struct Sleepers {
    /// In whose word wakers begin: the worker that fell asleep last, or one that was found after
    /// it.
    first: AtomicU16,
    widths: Widths,
}

impl Sleepers {
    const_unless_loom! {
        pub(super) fn new(widths: Widths) -> Self {
            Self { first: AtomicU16::new(0), widths }
        }
    }

    /// Whether the counters allow so few workers that wakers look at the slots instead. So it is on
    /// small processors, where bits are more code than they are worth.
    #[inline(always)]
    pub(super) const fn are_few(&self) -> bool {
        self.widths.max_threads() <= u8::MAX as usize
    }

    /// Sets the bit of a worker. The worker calls this before it opens its slot, or the guest that
    /// gives it back.
    #[inline]
    pub(super) fn add<P>(&self, slots: &[Slot<P>], worker: usize) {
        if self.are_few() {
            return;
        }
        // Ordering: Relaxed; the sleeper's fence comes after it, and pairs with the poster's: see
        // `Jec::wake_some`.
        slots[worker / GROUP]
            .group()
            .fetch_or(bit(worker), Ordering::Relaxed);
        self.begin_with(worker);
    }

    /// Clears the bit of a worker. Called by the thread that has claimed the slot, before it
    /// releases the slot, or by the worker itself, which has closed it.
    #[inline]
    pub(super) fn remove<P>(&self, slots: &[Slot<P>], worker: usize) {
        if self.are_few() {
            return;
        }
        // Ordering: Relaxed. The release of the slot orders it before the worker's next `add`, and
        // before the fence after its next job.
        slots[worker / GROUP]
            .group()
            .fetch_and(!bit(worker), Ordering::Relaxed);
    }

    /// Offers the workers that may be asleep to `accepts`, each at most once, until it accepts one.
    ///
    /// The word of the worker that fell asleep last comes first, in the order of the numbers. If
    /// the `waker` is a worker that ends a search, it begins at a place of its own: otherwise
    /// many that do so at the same time would all try the same ones. Then come the others of
    /// that word, in a circle, and those of the next words.
    #[inline]
    pub(super) fn find<P>(
        &self,
        slots: &[Slot<P>],
        waker: Option<usize>,
        mut accepts: impl FnMut(usize) -> bool,
    ) {
        if self.are_few() {
            (0..slots.len()).any(accepts);
            return;
        }
        let start = match waker {
            // An odd number, so that all begin apart if the number of workers is a power of two;
            // the golden ratio of 16 bits, so that neighbors begin far from each other.
            Some(worker) => worker.wrapping_mul(40_503) % slots.len(),
            // Ordering: Relaxed; it changes only the order in which workers are offered.
            None => usize::from(self.first.load(Ordering::Relaxed)) / GROUP * GROUP,
        };
        let asleep = |word| word;
        Self::scan(slots, start, asleep, |worker| {
            let is_accepted = accepts(worker);
            if is_accepted && waker.is_none() && worker / GROUP != start / GROUP {
                self.begin_with(worker);
            }
            is_accepted
        });
    }

    /// Offers the workers whose bit is not set to `accepts`, each at most once, from the worker
    /// `first` on, until it accepts one. Returns whether it did.
    #[inline]
    pub(super) fn any_awake<P>(
        &self,
        slots: &[Slot<P>],
        first: usize,
        mut accepts: impl FnMut(usize) -> bool,
    ) -> bool {
        let start = if first < slots.len() { first } else { 0 };
        let awake = |word: usize| !word;
        Self::scan(slots, start, awake, |worker| {
            worker < slots.len() && accepts(worker)
        })
    }

    /// Offers the workers that `select` takes from each word to `accepts`, in a circle that begins
    /// with the worker `start`, until it accepts one. The others of the first word come before
    /// the next word.
    #[inline]
    fn scan<P>(
        slots: &[Slot<P>],
        start: usize,
        select: impl Fn(usize) -> usize,
        mut accepts: impl FnMut(usize) -> bool,
    ) -> bool {
        let groups = slots.len().div_ceil(GROUP);
        let first = start % GROUP;
        for step in 0..groups {
            let group = (start / GROUP + step) % groups;
            // Ordering: Relaxed. A waker has executed a fence that pairs with the sleeper's: either
            // this sees the bit of a worker that sleeps, or that worker sees the waker's job. A
            // worker that is about to sleep has executed a fence too: if it sees the bit of a
            // worker that has cleared it, that one's next fence comes later, after which it sees
            // this worker registered.
            let mut selected = select(slots[group].group().load(Ordering::Relaxed));
            while selected != 0 {
                let distance = selected.rotate_right(first as u32).trailing_zeros() as usize;
                let number = (first + distance) % GROUP;
                if accepts(group * GROUP + number) {
                    return true;
                }
                selected &= !bit(number);
            }
        }
        false
    }

    /// Lets wakers begin in the word of a worker.
    fn begin_with(&self, worker: usize) {
        // A hint: a number that wide counters allow and 16 bits do not hold gives another place to
        // begin at.
        #[allow(clippy::cast_possible_truncation)]
        let worker = worker as u16;
        // Ordering: Relaxed, as in `find`.
        self.first.store(worker, Ordering::Relaxed);
    }
}

fn bit(worker: usize) -> usize {
    1 << (worker % GROUP)
}
