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
//! over disturbs nothing. It is stored one higher than its value, so that an odd JEC, which asks for
//! nothing, has a zero as its lowest bit. Then one test of that bit and the sleeping count tells a
//! poster that it need not do anything.

use core::{fmt, marker::PhantomData};

use crate::primitive::{AtomicWord, Ordering};

#[cfg(test)]
mod tests;

/// The integer that the counters are packed into: the widest with native atomics, up to 64 bits.
#[cfg(any(loom, target_has_atomic = "64"))]
pub type Word = u64;
/// The integer that the counters are packed into: the widest with native atomics, up to 64 bits.
#[cfg(not(any(loom, target_has_atomic = "64")))]
pub type Word = u32;

/// The number of bits of each counter.
///
/// Two thread counters and one jobs event counter must fit into a [`Word`]; that is checked when
/// the program is compiled. [`DefaultWidths`] suits every program. Narrower ones exist so that
/// tests meet the rollover of the jobs event counter, which in production takes 2³¹ sleeps:
///
/// ```
/// use sleep_core::protocol::jec::{AtomicCounters, Widths};
///
/// struct Tiny;
/// impl Widths for Tiny {
///     const THREAD_BITS: u32 = 4;
///     const JEC_BITS: u32 = 1;
/// }
///
/// assert_eq!(AtomicCounters::<Tiny>::MAX_THREADS, 15);
/// ```
pub trait Widths: 'static {
    /// Bits of each of the two thread counters.
    const THREAD_BITS: u32;
    /// Bits of the jobs event counter, at least 1.
    const JEC_BITS: u32;
}

/// 16 bits for each thread counter and 32 for the JEC; where there are no native 64-bit atomics,
/// 8 and 16.
#[derive(Debug, Clone, Copy)]
pub struct DefaultWidths;

impl Widths for DefaultWidths {
    const THREAD_BITS: u32 = Word::BITS / 4;
    const JEC_BITS: u32 = Word::BITS / 2;
}

/// The sleeping count, the inactive count and the jobs event counter, changed together.
///
/// Every operation is one atomic operation on one word or two, or a loop of compare-exchanges in which a
/// failure means that another thread succeeded: lock-free.
///
/// The protocol that gives the counters their meaning is [`Jec`](crate::Jec); use this type
/// alone only to build another one.
///
/// # Examples
/// ```
/// use sleep_core::protocol::jec::AtomicCounters;
///
/// let counters = AtomicCounters::<sleep_core::protocol::jec::DefaultWidths>::new();
/// counters.add_inactive_thread();
/// assert!(counters.make_jec_sleepy().is_sleepy());
/// // A post makes the jobs event counter odd, and counts the threads that may run the job.
/// let seen = counters.increment_jec_if_sleepy();
/// assert_eq!((seen.awake_but_idle(), seen.sleeping()), (1, 0));
/// assert!(!seen.jec().is_sleepy());
/// ```
///
/// Source: the `AtomicCounters` of rayon RFC 5 and of Blitz.
pub struct AtomicCounters<W: Widths = DefaultWidths> {
    word: AtomicWord,
    widths: PhantomData<fn() -> W>,
}

impl<W: Widths> AtomicCounters<W> {
    const JEC_SHIFT: u32 = {
        assert!(
            W::JEC_BITS >= 1 && W::THREAD_BITS >= 1,
            "every counter needs a bit"
        );
        assert!(
            2 * W::THREAD_BITS + W::JEC_BITS <= Word::BITS,
            "two thread counters and the JEC must fit into one word"
        );
        Word::BITS - W::JEC_BITS
    };
    const ONE_SLEEPING: Word = 1;
    const ONE_INACTIVE: Word = 1 << W::THREAD_BITS;
    const ONE_JEC: Word = 1 << Self::JEC_SHIFT;
    const THREAD_MASK: Word = (1 << W::THREAD_BITS) - 1;

    /// The greatest number of threads that the thread counters can count.
    pub const MAX_THREADS: usize = Self::THREAD_MASK as usize;

    /// The most sleepers that a worker which leaves the idle state is told to wake.
    ///
    /// Two, so that a burst of work wakes a pool in a number of steps logarithmic in its size.
    pub const CASCADE: usize = 2;

    /// Whether a thread looks at the word before it changes it, so that it does not take the line from the others
    /// without need. Processors without 64-bit atomics are small, and so should the code for them be.
    const SPARES_THE_LINE: bool = Word::BITS == 64;

    const_unless_loom! {
        /// Creates counters at zero: no thread is inactive or sleepy.
        #[must_use]
        pub fn new() -> Self {
            Self { word: AtomicWord::new(Self::ONE_JEC), widths: PhantomData }
        }
    }

    /// Reads all counters at one instant.
    pub fn load(&self) -> Counters<W> {
        // Ordering: Acquire pairs with the Release of `increment_jec_if_sleepy`. A worker that finds
        // the counter even here, because another worker made it so after a post had made it odd, sees
        // that post's job in its next search; with Relaxed it could read older queues. A post that
        // found the counter odd already wrote nothing, and its job may be overlooked here: that none
        // is overlooked for good is ensured by the fences of `Jec`, not by this.
        Counters::from_word(self.word.load(Ordering::Acquire))
    }

    /// Whether no thread sleeps or is about to, so that new work need not be announced. One load and
    /// one comparison.
    #[inline]
    pub fn all_are_awake(&self) -> bool {
        // Ordering: Relaxed, as in `increment_jec_if_sleepy`.
        let word = self.word.load(Ordering::Relaxed);
        word & (Self::ONE_JEC | Self::THREAD_MASK) == 0
    }

    /// Notes that there is new work: makes an even (sleepy) jobs event counter odd.
    ///
    /// Returns the counters as they are after that, so that the caller can decide whom to wake.
    /// When no thread got sleepy since the last post, this is a single load.
    #[inline]
    pub fn increment_jec_if_sleepy(&self) -> Counters<W> {
        // Ordering: Relaxed, since the compare-exchange below confirms what it acts on, and the
        // caller's decision is ordered by the fences of `Jec`, not by this load.
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let counters = Counters::<W>::from_word(word);
            if !counters.jec().is_sleepy() {
                return counters;
            }
            let next = word.wrapping_add(Self::ONE_JEC);
            // Ordering: Release publishes the job that was queued before this call to the workers
            // that get sleepy after it (`make_jec_sleepy`, `load`): with Relaxed such a worker could
            // remember the new value and still not see the job. No Acquire: nothing of what other
            // threads wrote is read on the strength of this exchange.
            match self
                .word
                .compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return Counters::from_word(next),
                Err(now) => word = now,
            }
        }
    }

    /// Announces that a worker is about to sleep: makes an odd jobs event counter even.
    ///
    /// Returns the counter's final value, which the worker compares before it goes to sleep.
    pub fn make_jec_sleepy(&self) -> JobsEventCounter {
        if Self::SPARES_THE_LINE {
            let counters = self.load();
            if counters.jec().is_sleepy() {
                return counters.jec();
            }
        }
        // The bit is a zero in the stored value of an odd counter, so this adds one to it, and nothing to an
        // even one.
        //
        // Ordering: Acquire pairs with the Release of `increment_jec_if_sleepy`, see `load`. Not Release: a
        // poster that reads this value takes from it only that it must increment.
        let old = self.word.fetch_or(Self::ONE_JEC, Ordering::Acquire);
        Counters::<W>::from_word(old | Self::ONE_JEC).jec()
    }

    /// Adds one sleeping thread, unless the jobs event counter differs from `jec`.
    ///
    /// Three operations at most, however many threads do the same: a thread that finds out too late that the jobs
    /// event counter has changed takes itself back. Until then others may count a sleeper too many.
    ///
    /// # Errors
    /// The counters as they were without this thread, if their jobs event counter differs.
    pub fn try_add_sleeping_thread(&self, jec: JobsEventCounter) -> Result<(), Counters<W>> {
        if Self::SPARES_THE_LINE {
            // After a post that many threads have noticed, this also spares them a wrong count.
            //
            // Ordering: Relaxed, as below.
            let seen = Counters::<W>::from_word(self.word.load(Ordering::Relaxed));
            if seen.jec() != jec {
                return Err(seen);
            }
        }
        // Ordering: Relaxed. That a poster sees the count or the sleeper sees the job is the work
        // of the two fences in `Jec`, which no ordering of this operation could replace.
        let old = self.word.fetch_add(Self::ONE_SLEEPING, Ordering::Relaxed);
        let old = Counters::<W>::from_word(old);
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
    pub fn sub_sleeping_thread(&self) {
        // Ordering: Relaxed. The slot's state hands the right to change the count to the waker and
        // back; this is only the count.
        let old = self.word.fetch_sub(Self::ONE_SLEEPING, Ordering::Relaxed);
        let old = Counters::<W>::from_word(old);
        debug_assert!(
            old.sleeping() > 0,
            "the sleeping count would underflow: {old:?}"
        );
    }

    /// Adds one inactive thread: it has begun to look for work. Returns the counters after that.
    pub fn add_inactive_thread(&self) -> Counters<W> {
        // Ordering: Relaxed, a plain count. A poster that counts on this thread wakes none for its
        // job. The thread sees that job at the latest after the fence that ends its search: the
        // sleeper's, or that of the cascade (`Jec`). For an internal job, which is posted without
        // a fence, that is likely and not certain.
        let old = self.word.fetch_add(Self::ONE_INACTIVE, Ordering::Relaxed);
        debug_assert!(
            Counters::<W>::from_word(old).inactive() < Self::MAX_THREADS,
            "the inactive count would overflow"
        );
        Counters::from_word(old.wrapping_add(Self::ONE_INACTIVE))
    }

    /// Uncounts a thread that sleeps, whose place an active thread has taken.
    pub(super) fn sub_sleeping_and_inactive(&self) {
        // Ordering: Relaxed, as in `sub_sleeping_thread`: the slot's state hands the right over.
        let both = Self::ONE_SLEEPING + Self::ONE_INACTIVE;
        let old = self.word.fetch_sub(both, Ordering::Relaxed);
        debug_assert!(
            Counters::<W>::from_word(old).sleeping() > 0,
            "the sleeping count would underflow"
        );
    }

    /// Counts a thread that sleeps, whose place an active thread has given back.
    pub(super) fn add_sleeping_and_inactive(&self) {
        // Ordering: Relaxed, as in `try_add_sleeping_thread`.
        let both = Self::ONE_SLEEPING + Self::ONE_INACTIVE;
        let old = self.word.fetch_add(both, Ordering::Relaxed);
        debug_assert!(
            Counters::<W>::from_word(old).inactive() < Self::MAX_THREADS,
            "the inactive count would overflow"
        );
    }

    /// Removes one inactive thread: it has found work. Returns the counters after that.
    ///
    /// If threads sleep, and few are awake and idle, that thread should wake others if there is more work: the cascade,
    /// at most [`CASCADE`](Self::CASCADE) of them. A poster may have woken none because it counted on this thread.
    pub fn sub_inactive_thread(&self) -> Counters<W> {
        // Ordering: Relaxed; a caller that goes on to look for more work executes a fence first.
        let old = self.word.fetch_sub(Self::ONE_INACTIVE, Ordering::Relaxed);
        let old = Counters::<W>::from_word(old);
        debug_assert!(
            old.inactive() > 0,
            "the inactive count would underflow: {old:?}"
        );
        debug_assert!(
            old.sleeping() < old.inactive(),
            "a sleeping thread found work: {old:?}"
        );
        Counters::from_word(old.word.wrapping_sub(Self::ONE_INACTIVE))
    }
}

impl<W: Widths> Default for AtomicCounters<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W: Widths> fmt::Debug for AtomicCounters<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// The counters of a pool at one instant.
pub struct Counters<W: Widths = DefaultWidths> {
    word: Word,
    widths: PhantomData<fn() -> W>,
}

impl<W: Widths> Counters<W> {
    const fn from_word(word: Word) -> Self {
        let counters = Self {
            word,
            widths: PhantomData,
        };
        debug_assert!(
            counters.sleeping() <= counters.inactive(),
            "more threads sleep than are inactive"
        );
        counters
    }

    /// Returns the number of threads that are asleep and that no waker has claimed yet.
    #[must_use]
    pub const fn sleeping(self) -> usize {
        (self.word & AtomicCounters::<W>::THREAD_MASK) as usize
    }

    /// Returns the number of threads that run no job: those that search and those that sleep.
    #[must_use]
    pub const fn inactive(self) -> usize {
        ((self.word >> W::THREAD_BITS) & AtomicCounters::<W>::THREAD_MASK) as usize
    }

    /// Returns the number of threads that search, and so find new work without being woken.
    #[must_use]
    pub const fn awake_but_idle(self) -> usize {
        self.inactive() - self.sleeping()
    }

    /// Returns the jobs event counter.
    #[must_use]
    pub const fn jec(self) -> JobsEventCounter {
        let word = self.word.wrapping_sub(AtomicCounters::<W>::ONE_JEC);
        JobsEventCounter(word >> AtomicCounters::<W>::JEC_SHIFT)
    }
}

impl<W: Widths> Clone for Counters<W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W: Widths> Copy for Counters<W> {}

impl<W: Widths> fmt::Debug for Counters<W> {
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
/// Even: no work was posted since the last worker got sleepy. Odd: some was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobsEventCounter(Word);

impl JobsEventCounter {
    /// Whether no work was posted since the last worker got sleepy.
    #[must_use]
    pub const fn is_sleepy(self) -> bool {
        self.0 & 1 == 0
    }
}
