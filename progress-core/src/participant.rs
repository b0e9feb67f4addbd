//! The place of one thread.

use core::fmt;

use crossbeam_utils::CachePadded;

use crate::{
    moment::{WAITING, number},
    wanted::Wanted,
};
use sleep_primitives::{AtomicU8, AtomicWord, Ordering, RawWord};

/// The place of one thread in a [`Progress`](crate::Progress): of a managed one, or of a
/// [`Reader`](crate::Reader).
pub struct Participant<P> {
    /// The value that the thread has confirmed, on a cache line that only the thread writes and
    /// only the leader reads.
    confirmed: CachePadded<AtomicWord>,
    seldom: CachePadded<Seldom<P>>,
}

struct Seldom<P> {
    /// The [`Wanted`] of the thread.
    wanted: AtomicWord,
    holder: AtomicU8,
    parker: P,
}

/// Nobody has the line.
const FREE: u8 = 0;
/// A managed thread has it.
const MANAGED: u8 = 1;
/// A reader has it.
const READER: u8 = 2;

impl<P> Participant<P> {
    const_unless_loom! {
        /// A line that no thread has taken. The parker wakes its thread for progress, and nobody
        /// else should use it up.
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

    /// The thread's parker.
    #[must_use]
    pub fn parker(&self) -> &P {
        &self.seldom.parker
    }

    /// The line for a managed thread, if nobody has it.
    pub(crate) fn take(&self) -> bool {
        self.take_as(MANAGED)
    }

    /// The line for a reader, if nobody has it.
    pub(crate) fn take_for_reader(&self) -> bool {
        self.take_as(READER)
    }

    fn take_as(&self, holder: u8) -> bool {
        // Ordering: Acquire pairs with `give_back`. Relaxed on failure: nothing was received. What
        // this writes is seen by who sees what the holder confirms later (`is_managed`).
        self.seldom
            .holder
            .compare_exchange(FREE, holder, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    pub(crate) fn give_back(&self) {
        // Ordering: Release pairs with `take_as`: the next thread finds the line as it was left.
        self.seldom.holder.store(FREE, Ordering::Release);
    }

    pub(crate) fn is_taken(&self) -> bool {
        // Ordering: Relaxed, for looking on.
        self.seldom.holder.load(Ordering::Relaxed) != FREE
    }

    /// Whether a managed thread has the line. Asked after `confirmed`, the answer is not older
    /// than the thread that has confirmed.
    pub(crate) fn is_managed(&self) -> bool {
        // Ordering: Relaxed; `confirmed` acquires, and holders confirm after they have taken.
        self.seldom.holder.load(Ordering::Relaxed) == MANAGED
    }

    /// What the thread has confirmed, or `WAITING`.
    pub(crate) fn confirmed(&self) -> RawWord {
        // Ordering: Acquire pairs with `set_confirmed`: what the thread has read before lies
        // before what follows here, as freeing.
        self.confirmed.load(Ordering::Acquire)
    }

    /// Only by the line's thread.
    #[inline]
    pub(crate) fn set_confirmed(&self, value: RawWord) {
        // Ordering: Release pairs with `confirmed`. Also where a thread comes back from waiting:
        // the leader may see this store and not the one by which it went.
        self.confirmed.store(value, Ordering::Release);
    }

    /// Adds a value that is not reached to the thread's wish. Only by the line's thread. True if
    /// there was another one that is reached, and of which the thread has not been told.
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

    /// Drops the thread's wish. Only by the line's thread.
    pub(crate) fn clear_wanted(&self) {
        // Ordering: Relaxed; a leader that has seen the wish unparks once too often.
        self.seldom
            .wanted
            .store(Wanted::NONE.word(), Ordering::Relaxed);
    }

    /// The values at which the thread is to be woken.
    pub(crate) fn wanted(&self) -> Wanted {
        // Ordering: Relaxed; the leader has seen the publication if it must act.
        Wanted::from_word(self.seldom.wanted.load(Ordering::Relaxed))
    }

    /// Takes what is reached out of the thread's wish. True if the caller is to wake the thread.
    pub(crate) fn take_reached(&self, current: RawWord) -> bool {
        let mut wanted = self.wanted();
        loop {
            let rest = wanted.without_reached(current);
            if rest == wanted {
                return false;
            }
            // Ordering: Relaxed, the parker brings the news.
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
        // Ordering: Relaxed, for looking on.
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
