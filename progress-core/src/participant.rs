//! The record of one thread.

use core::fmt;

use crossbeam_utils::CachePadded;
use sleep_primitives::{AtomicU8, AtomicWord, Ordering, RawWord};

use crate::moment::{STEP, WAITING, is_reached, number};

/// The record of one thread in a [`Progress`](crate::Progress): of a managed thread or of a
/// [`Reader`](crate::Reader).
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
/// let participants = [const { Participant::new(Core) }; 2];
/// let progress: Progress<(Core, _)> = Progress::new(participants);
/// assert_eq!(progress.participants().len(), 2);
/// let _this_thread = progress.register()?; // has the first of them
/// # Ok::<(), progress_core::TooManyParticipants>(())
/// ```
#[doc(alias = "Line")]
pub struct Participant<P> {
    /// The value that the thread has confirmed, on a cache line that only the thread writes. The
    /// leader scans these lines. A thread that gives the leadership up and one that blocks read
    /// them too.
    confirmed: CachePadded<AtomicWord>,
    seldom: CachePadded<Seldom<P>>,
}

/// The fields that are seldom used.
struct Seldom<P> {
    /// The [`Wanted`] values of the thread.
    wanted: AtomicWord,
    holder: AtomicU8,
    parker: P,
}

/// No thread has the slot.
const FREE: u8 = 0;
/// A managed thread has it.
const MANAGED: u8 = 1;
/// A reader has it.
const READER: u8 = 2;

impl<P> Participant<P> {
    const_unless_loom! {
        /// Creates a slot that no thread has taken. Progress unparks the thread through the parker,
        /// whose token no other code should consume.
        #[must_use]
        pub fn new(parker: P) -> Self {
            Self {
                confirmed: CachePadded::new(AtomicWord::new(WAITING)),
                seldom: CachePadded::new(Seldom {
                    wanted: AtomicWord::new(Wanted::NONE.word()),
                    holder: AtomicU8::new(FREE),
                    parker,
                }),
            }
        }
    }

    /// Returns the parker of the thread.
    #[must_use]
    pub fn parker(&self) -> &P {
        &self.seldom.parker
    }

    /// Takes the slot for a managed thread, if it is free.
    pub(crate) fn take(&self) -> bool {
        self.take_as(MANAGED)
    }

    /// Takes the slot for a reader, if it is free.
    pub(crate) fn take_for_reader(&self) -> bool {
        self.take_as(READER)
    }

    fn take_as(&self, holder: u8) -> bool {
        // Ordering: Acquire pairs with `give_back`. Relaxed on failure: nothing was received. A
        // thread that sees what the holder confirms later sees this store too (`is_managed`).
        self.seldom
            .holder
            .compare_exchange(FREE, holder, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn give_back(&self) {
        // Ordering: Release pairs with `take_as`: the next thread finds the slot as this one left
        // it.
        self.seldom.holder.store(FREE, Ordering::Release);
    }

    /// Frees the slot, after all threads have ended. This changes something only if the handle of a
    /// thread was forgotten.
    pub(crate) fn reset(&self) {
        self.set_confirmed(WAITING);
        self.clear_wanted();
        self.give_back();
    }

    pub(crate) fn is_taken(&self) -> bool {
        // Ordering: Relaxed; debug output only.
        self.seldom.holder.load(Ordering::Relaxed) != FREE
    }

    /// Whether a managed thread has the slot. After a call of `confirmed`, the answer is not older
    /// than the thread that has confirmed.
    pub(crate) fn is_managed(&self) -> bool {
        // Ordering: Relaxed; `confirmed` acquires, and a holder confirms after it has taken.
        self.seldom.holder.load(Ordering::Relaxed) == MANAGED
    }

    /// Returns the value that the thread has confirmed, or `WAITING`.
    pub(crate) fn confirmed(&self) -> RawWord {
        // Ordering: Acquire pairs with `set_confirmed`: what the thread has read before happens
        // before what follows here, such as freeing.
        self.confirmed.load(Ordering::Acquire)
    }

    /// Stores a value that the thread confirms, or `WAITING`. Only the thread of this slot may call
    /// this.
    #[inline]
    pub(crate) fn set_confirmed(&self, value: RawWord) {
        // Ordering: Release pairs with `confirmed`. It is needed also where a thread returns from
        // waiting: the leader may see this store and not the one that stored `WAITING`.
        self.confirmed.store(value, Ordering::Release);
    }

    /// Adds a value that is not reached to those that the thread wants. Returns true if another one
    /// is reached already and the thread has not been woken for it. Only the thread of this slot
    /// may call this.
    pub(crate) fn set_wanted(&self, value: RawWord, current: RawWord) -> bool {
        let mut wanted = self.wanted();
        loop {
            let rest = wanted.without_reached(current);
            // Ordering: Relaxed; `Progress::request_wakeup` publishes it.
            match self.exchange_wanted(wanted, rest.with(value)) {
                Ok(()) => return rest != wanted,
                Err(other) => wanted = other,
            }
        }
    }

    /// Drops all values that the thread wants. Only the thread of this slot may call this.
    pub(crate) fn clear_wanted(&self) {
        // Ordering: Relaxed; a leader that has seen the values unparks once too often.
        self.seldom
            .wanted
            .store(Wanted::NONE.word(), Ordering::Relaxed);
    }

    /// Returns the values at which the thread is to be woken.
    pub(crate) fn wanted(&self) -> Wanted {
        // Ordering: Relaxed; a leader that must act has seen the publication.
        Wanted::from_word(self.seldom.wanted.load(Ordering::Relaxed))
    }

    /// Removes what is reached from the values that the thread wants. Returns true if the caller is
    /// to wake the thread.
    pub(crate) fn take_reached(&self, current: RawWord) -> bool {
        let mut wanted = self.wanted();
        loop {
            let rest = wanted.without_reached(current);
            if rest == wanted {
                return false;
            }
            // Ordering: Relaxed; the parker publishes what the thread must see.
            match self.exchange_wanted(wanted, rest) {
                Ok(()) => return true,
                Err(other) => wanted = other,
            }
        }
    }

    fn exchange_wanted(&self, from: Wanted, to: Wanted) -> Result<(), Wanted> {
        // Ordering: Relaxed, for the reasons of the callers.
        self.seldom
            .wanted
            .compare_exchange(from.word(), to.word(), Ordering::Relaxed, Ordering::Relaxed)
            .map(drop)
            .map_err(Wanted::from_word)
    }
}

impl<P> fmt::Debug for Participant<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed; debug output only.
        match self.confirmed.load(Ordering::Relaxed) {
            WAITING if !self.is_taken() => f.write_str("free"),
            WAITING => match self.wanted().first() {
                None => f.write_str("waiting"),
                Some(value) => write!(f, "waiting for {}", number(value)),
            },
            value => write!(f, "confirmed {}", number(value)),
        }
    }
}

/// The values at which one thread is to be woken, in one word.
///
/// The word holds the first value, whose lowest bit is set, and one bit for each of the two values
/// after it. That is enough, because a value is at most three advances away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted(RawWord);

/// One bit for each value: the first one and the two after it.
const MASK: RawWord = STEP - 1;

impl Wanted {
    pub(crate) const NONE: Self = Self(WAITING);

    const fn from_word(word: RawWord) -> Self {
        Self(word)
    }

    const fn word(self) -> RawWord {
        self.0
    }

    /// Returns the first of the values.
    fn first(self) -> Option<RawWord> {
        (self != Self::NONE).then_some(self.0 & !MASK | 1)
    }

    /// Returns the values that are not reached.
    #[must_use]
    const fn without_reached(self, current: RawWord) -> Self {
        let (mut first, mut mask) = (self.0 & !MASK, self.0 & MASK);
        while mask != 0 && (mask & 1 == 0 || is_reached(current, first | 1)) {
            first = first.wrapping_add(STEP);
            mask >>= 1;
        }
        if mask == 0 {
            Self::NONE
        } else {
            Self(first | mask)
        }
    }

    /// Returns these values and one more. None of them is reached, so that all lie within three
    /// advances.
    #[must_use]
    fn with(self, value: RawWord) -> Self {
        let Some(first) = self.first() else {
            return Self(value);
        };
        if is_reached(value, first) {
            let distance = value.wrapping_sub(first) / STEP;
            debug_assert!(distance < 3, "{self:?}, {value}");
            Self(self.0 | ((1 << distance) & MASK))
        } else {
            let distance = first.wrapping_sub(value) / STEP;
            debug_assert!(
                self.0 & MASK & !(MASK >> distance) == 0,
                "{self:?}, {value}"
            );
            Self(value | (((self.0 & MASK) << distance) & MASK))
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Compares with a plain list of values, also near the wrap-around.
    #[test]
    fn wanted_values_are_kept_until_they_are_reached() {
        for start in [1, (0 as RawWord).wrapping_sub(STEP * 2).wrapping_add(1)] {
            let value = |steps: usize| start.wrapping_add(STEP * steps as RawWord);
            // Any two or three of the three values that a thread may ask for, in any order.
            for (a, b, c) in (0..27).map(|n| (1 + n % 3, 1 + n / 3 % 3, 1 + n / 9)) {
                let mut wanted = Wanted::NONE.with(value(a)).with(value(b)).with(value(c));
                for reached in 0..=4 {
                    wanted = wanted.without_reached(value(reached));
                    let first = [a, b, c].into_iter().filter(|it| *it > reached).min();
                    assert_eq!(wanted.first(), first.map(value), "{a} {b} {c} at {reached}");
                }
                assert_eq!(wanted, Wanted::NONE);
            }
        }
    }
}
