//! The counters of a pool, packed into one atomic word.
//!
//! ```text
//!  high                                             low
//! +---------------------+--------------+--------------+
//! | jobs event counter  |   inactive   |   sleeping   |
//! +---------------------+--------------+--------------+
//! ```
//!
//! The jobs event counter (JEC) sits at the top, so that its carry leaves the word and rolling
//! over disturbs nothing. It is stored one higher than its value, so that an odd JEC, which asks
//! for nothing, has a zero as its lowest bit. Then one test of that bit and the sleeping count
//! tells a poster that it need not do anything.

use core::fmt;

use super::widths::Widths;
use crate::primitive::{AtomicWord, Ordering};

#[cfg(test)]
mod tests;

/// The integer that the counters are packed into: the widest with native atomics, up to 64 bits.
#[cfg(any(loom, target_has_atomic = "64"))]
pub(super) type Word = u64;
/// The integer that the counters are packed into: the widest with native atomics, up to 64 bits.
#[cfg(not(any(loom, target_has_atomic = "64")))]
pub(super) type Word = u32;

/// The sleeping count, the inactive count and the jobs event counter, changed together.
///
/// Every operation is at most three atomic operations on one word, or a loop of compare-exchanges
/// in which a failure means that another thread succeeded: lock-free.
///
/// Source: the `AtomicCounters` of rayon RFC 5 and of Blitz.
pub(super) struct AtomicCounters {
    word: AtomicWord,
    widths: Widths,
}

impl AtomicCounters {
    const ONE_SLEEPING: Word = 1;

    /// The greatest number of threads that the thread counters can count.
    pub(super) const MAX_THREADS: usize = Widths::DEFAULT.max_threads();

    /// The most sleepers that a worker which leaves the idle state is told to wake.
    ///
    /// Two, so that a burst of work wakes a pool in a number of steps logarithmic in its size.
    pub(super) const CASCADE: usize = 2;

    /// Whether a thread looks at the word before it changes it, so that it does not take the line
    /// from the others without need. Processors without 64-bit atomics are small, and so should
    /// the code for them be.
    const SPARES_THE_LINE: bool = Word::BITS == 64;

    const_unless_loom! {
        /// Creates counters whose word is zero: no thread is inactive or sleepy, and a job was
        /// posted. Static memory of zeros takes no room in the flash of a board.
        pub(super) fn new(widths: Widths) -> Self {
            Self { word: AtomicWord::new(0), widths }
        }
    }

    #[inline(always)]
    const fn unpack(&self, word: Word) -> Counters {
        Counters::from_word(word, self.widths)
    }

    /// Reads all counters at one instant.
    pub(super) fn load(&self) -> Counters {
        // Ordering: Acquire pairs with the Release of `increment_jec_if_sleepy`. A worker that
        // finds the counter even here, because another worker made it so after a post had
        // made it odd, sees that post's job in its next search; with Relaxed it could read
        // older queues. A post that found the counter odd already wrote nothing, and its
        // job may be overlooked here: that none is overlooked for good is ensured by the
        // fences of `Jec`, not by this.
        self.unpack(self.word.load(Ordering::Acquire))
    }

    /// Whether no thread sleeps or is about to, so that new work need not be announced. One load
    /// and one comparison.
    #[inline]
    pub(super) fn all_are_awake(&self) -> bool {
        // Ordering: Relaxed, as in `increment_jec_if_sleepy`.
        let word = self.word.load(Ordering::Relaxed);
        word & (self.widths.one_jec() | self.widths.thread_mask()) == 0
    }

    /// Notes that there is new work: makes an even (sleepy) jobs event counter odd.
    ///
    /// Returns the counters as they are after that, so that the caller can decide whom to wake.
    /// When no thread got sleepy since the last post, this is a single load.
    #[inline]
    pub(super) fn increment_jec_if_sleepy(&self) -> Counters {
        // Ordering: Relaxed, since the compare-exchange below confirms what it acts on, and the
        // caller's decision is ordered by the fences of `Jec`, not by this load.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let counters = self.unpack(word);
            if !counters.jec().is_sleepy() {
                return counters;
            }
            let next = word.wrapping_add(self.widths.one_jec());
            // Ordering: Release publishes the job that was queued before this call to the workers
            // that get sleepy after it (`make_jec_sleepy`, `load`): with Relaxed such a worker
            // could remember the new value and still not see the job. No Acquire: nothing of what
            // other threads wrote is read on the strength of this exchange.
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return self.unpack(next),
                Err(now) => word = now,
            }
        }
    }

    /// Announces that a worker is about to sleep: makes an odd jobs event counter even.
    ///
    /// Returns the counter's final value, which the worker compares before it goes to sleep.
    pub(super) fn make_jec_sleepy(&self) -> JobsEventCounter {
        if Self::SPARES_THE_LINE {
            let counters = self.load();
            if counters.jec().is_sleepy() {
                return counters.jec();
            }
        }
        // The bit is a zero in the stored value of an odd counter, so this adds one to it, and
        // nothing to an even one.
        //
        // Ordering: Acquire pairs with the Release of `increment_jec_if_sleepy`, see `load`. Not
        // Release: a poster that reads this value takes from it only that it must
        // increment.
        let old = self.word.fetch_or(self.widths.one_jec(), Ordering::Acquire);
        self.unpack(old | self.widths.one_jec()).jec()
    }

    /// Adds one sleeping thread, unless the jobs event counter differs from `jec`.
    ///
    /// Three operations at most, however many threads do the same: a thread that finds out too late
    /// that the jobs event counter has changed takes itself back. Until then others may count a
    /// sleeper too many.
    ///
    /// # Errors
    /// The counters as they were without this thread, if their jobs event counter differs.
    pub(super) fn try_add_sleeping_thread(&self, jec: JobsEventCounter) -> Result<(), Counters> {
        if Self::SPARES_THE_LINE {
            // After a post that many threads have noticed, this also spares them a wrong count.
            //
            // Ordering: Relaxed, as below.
            let seen = self.unpack(self.word.load(Ordering::Relaxed));
            if seen.jec() != jec {
                return Err(seen);
            }
        }
        // Ordering: Relaxed. That a poster sees the count or the sleeper sees the job is the work
        // of the two fences in `Jec`, which no ordering of this operation could replace.
        let old = self.word.fetch_add(Self::ONE_SLEEPING, Ordering::Relaxed);
        let old = self.unpack(old);
        debug_assert!(
            old.sleeping() < old.inactive(),
            "a thread sleeps that is not inactive"
        );
        if old.jec() == jec {
            return Ok(());
        }
        self.sub_sleeping_thread();
        Err(old)
    }

    /// Removes one sleeping thread. The waker calls this, not the thread that slept, so that other
    /// posters stop counting on that sleeper at once.
    pub(super) fn sub_sleeping_thread(&self) {
        // Ordering: Relaxed. The slot's state hands the right to change the count to the waker and
        // back; this is only the count.
        let old = self.word.fetch_sub(Self::ONE_SLEEPING, Ordering::Relaxed);
        let old = self.unpack(old);
        debug_assert!(
            old.sleeping() > 0,
            "the sleeping count would underflow: {old:?}"
        );
    }

    /// Adds one inactive thread: it has begun to look for work. Returns the counters after that.
    pub(super) fn add_inactive_thread(&self) -> Counters {
        // Ordering: Relaxed, a plain count. A poster that counts on this thread wakes none for its
        // job. The thread sees that job at the latest after the fence that ends its search: the
        // sleeper's, or that of the cascade (`Jec`). For an internal job, which is posted without
        // a fence, that is likely and not certain.
        let old = self
            .word
            .fetch_add(self.widths.one_inactive(), Ordering::Relaxed);
        debug_assert!(
            self.unpack(old).inactive() < self.widths.max_threads(),
            "the inactive count would overflow"
        );
        self.unpack(old.wrapping_add(self.widths.one_inactive()))
    }

    /// Uncounts a thread that sleeps, whose place an active thread has taken.
    pub(super) fn sub_sleeping_and_inactive(&self) {
        // Ordering: Relaxed, as in `sub_sleeping_thread`: the slot's state hands the right over.
        let both = Self::ONE_SLEEPING + self.widths.one_inactive();
        let old = self.word.fetch_sub(both, Ordering::Relaxed);
        debug_assert!(
            self.unpack(old).sleeping() > 0,
            "the sleeping count would underflow"
        );
    }

    /// Counts a thread that sleeps, whose place an active thread has given back.
    pub(super) fn add_sleeping_and_inactive(&self) {
        // Ordering: Relaxed, as in `try_add_sleeping_thread`.
        let both = Self::ONE_SLEEPING + self.widths.one_inactive();
        let old = self.word.fetch_add(both, Ordering::Relaxed);
        debug_assert!(
            self.unpack(old).inactive() < self.widths.max_threads(),
            "the inactive count would overflow"
        );
    }

    /// Removes one inactive thread: it has found work. Returns the counters after that.
    ///
    /// If threads sleep, and few are awake and idle, that thread should wake others if there is
    /// more work: the cascade, at most [`CASCADE`](Self::CASCADE) of them. A poster may have
    /// woken none because it counted on this thread.
    pub(super) fn sub_inactive_thread(&self) -> Counters {
        // Ordering: Relaxed; a caller that goes on to look for more work executes a fence first.
        let old = self
            .word
            .fetch_sub(self.widths.one_inactive(), Ordering::Relaxed);
        let old = self.unpack(old);
        debug_assert!(
            old.inactive() > 0,
            "the inactive count would underflow: {old:?}"
        );
        debug_assert!(
            old.sleeping() < old.inactive(),
            "a sleeping thread found work: {old:?}"
        );
        self.unpack(old.word.wrapping_sub(self.widths.one_inactive()))
    }
}

impl fmt::Debug for AtomicCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// The counters of a pool at one instant.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, SleepProtocol, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// let counters = SLEEP.counters();
/// assert_eq!((counters.inactive(), counters.sleeping()), (0, 0));
/// # let _ = SLEEP.num_workers();
/// ```
#[derive(Clone, Copy)]
pub struct Counters {
    word: Word,
    widths: Widths,
}

impl Counters {
    #[inline(always)]
    const fn from_word(word: Word, widths: Widths) -> Self {
        let counters = Self { word, widths };
        debug_assert!(
            counters.sleeping() <= counters.inactive(),
            "more threads sleep than are inactive"
        );
        counters
    }

    /// Returns the number of threads that are asleep and that no waker has claimed yet.
    #[must_use]
    pub const fn sleeping(self) -> usize {
        (self.word & self.widths.thread_mask()) as usize
    }

    /// Returns the number of threads that run no job: those that search and those that sleep.
    #[must_use]
    pub const fn inactive(self) -> usize {
        ((self.word >> self.widths.inactive_shift()) & self.widths.thread_mask()) as usize
    }

    /// Returns the number of threads that search, and so find new work without being woken.
    #[must_use]
    pub const fn awake_but_idle(self) -> usize {
        self.inactive() - self.sleeping()
    }

    /// Returns the jobs event counter.
    #[must_use]
    pub const fn jec(self) -> JobsEventCounter {
        let word = self.word.wrapping_sub(self.widths.one_jec());
        JobsEventCounter(word >> self.widths.jec_shift())
    }
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters")
            .field("jec", &self.jec().0)
            .field("inactive", &self.inactive())
            .field("sleeping", &self.sleeping())
            .finish()
    }
}

/// A value of the jobs event counter.
///
/// Even: no work was posted since the last worker became sleepy. Odd: some was.
///
/// # Examples
/// ```
/// use sleep_core::{IdlePolicy, Inline, Jec, Parker, Slot};
/// # struct Core;
/// # impl Parker for Core {
/// #     fn park(&self) {}
/// #     fn unpark(&self) {}
/// # }
///
/// static SLEEP: Jec<Inline<Slot<Core>, 2>> =
///     Jec::from_array([const { Slot::new(Core) }; 2], IdlePolicy::DEFAULT);
///
/// // No worker has got sleepy yet, or one has, and no job was posted since.
/// println!("{}", SLEEP.counters().jec().is_sleepy());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobsEventCounter(Word);

impl JobsEventCounter {
    /// Whether no work was posted since the last worker became sleepy.
    #[must_use]
    pub const fn is_sleepy(self) -> bool {
        self.0 & 1 == 0
    }
}
