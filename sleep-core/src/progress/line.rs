//! The place of one thread.

use core::fmt;

use crossbeam_utils::CachePadded;

use super::value::{WAITING, number};
use crate::primitive::{AtomicU8, AtomicWord, Ordering, RawWord};

/// The place of one thread in a [`Progress`](super::Progress): of a managed one, or of a
/// [`Reader`](super::Reader).
pub struct Line<P> {
    /// The value that the thread has confirmed, on a cache line that only the thread writes and
    /// only the leader reads.
    confirmed: CachePadded<AtomicWord>,
    seldom: CachePadded<Seldom<P>>,
}

struct Seldom<P> {
    /// The thread is to be woken when this value is reached; `WAITING` if none.
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

impl<P> Line<P> {
    const_unless_loom! {
        /// A line that no thread has taken. The parker wakes its thread for progress, and nobody
        /// else should use it up.
        #[must_use]
        pub fn new(parker: P) -> Self {
            Self {
                confirmed: CachePadded::new(AtomicWord::new(WAITING)),
                seldom: CachePadded::new(Seldom {
                    wanted: AtomicWord::new(WAITING),
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
    pub(super) fn take(&self) -> bool {
        self.take_as(MANAGED)
    }

    /// The line for a reader, if nobody has it.
    pub(super) fn take_for_reader(&self) -> bool {
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

    pub(super) fn give_back(&self) {
        // Ordering: Release pairs with `take_as`: the next thread finds the line as it was left.
        self.seldom.holder.store(FREE, Ordering::Release);
    }

    pub(super) fn is_taken(&self) -> bool {
        // Ordering: Relaxed, for looking on.
        self.seldom.holder.load(Ordering::Relaxed) != FREE
    }

    /// Whether a managed thread has the line. Asked after `confirmed`, the answer is not older
    /// than the thread that has confirmed.
    pub(super) fn is_managed(&self) -> bool {
        // Ordering: Relaxed; `confirmed` acquires, and holders confirm after they have taken.
        self.seldom.holder.load(Ordering::Relaxed) == MANAGED
    }

    /// What the thread has confirmed, or `WAITING`.
    pub(super) fn confirmed(&self) -> RawWord {
        // Ordering: Acquire pairs with `set_confirmed`: what the thread has read before lies
        // before what follows here, as freeing.
        self.confirmed.load(Ordering::Acquire)
    }

    /// Only by the line's thread.
    #[inline]
    pub(super) fn set_confirmed(&self, value: RawWord) {
        // Ordering: Release pairs with `confirmed`. Also where a thread comes back from waiting:
        // the leader may see this store and not the one by which it went.
        self.confirmed.store(value, Ordering::Release);
    }

    /// Only by the line's thread.
    pub(super) fn want(&self, value: RawWord) {
        // Ordering: Relaxed; `Progress::ask` publishes it.
        self.seldom.wanted.store(value, Ordering::Relaxed);
    }

    /// The value at which the thread is to be woken, or `WAITING`.
    pub(super) fn wanted(&self) -> RawWord {
        // Ordering: Relaxed; the leader has seen the publication if it must act.
        self.seldom.wanted.load(Ordering::Relaxed)
    }

    /// Takes back a wish that is fulfilled. False if the thread has another one by now.
    pub(super) fn fulfil(&self, value: RawWord) -> bool {
        // Ordering: Relaxed, the parker brings the news.
        self.seldom
            .wanted
            .compare_exchange(value, WAITING, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }
}

impl<P> fmt::Debug for Line<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed, for looking on.
        match self.confirmed.load(Ordering::Relaxed) {
            WAITING if !self.is_taken() => f.write_str("free"),
            WAITING => match self.wanted() {
                WAITING => f.write_str("waiting"),
                value => write!(f, "waiting for {}", number(value)),
            },
            value => write!(f, "confirmed {}", number(value)),
        }
    }
}
