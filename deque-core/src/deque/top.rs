//! The thieves' end: a word with an index and who brings the fence, and what goes with that.

use core::fmt;

use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

#[cfg(all(test, not(loom)))]
mod tests;

/// From one position to the next. A position is an index with two zero bits below, so that it can
/// be compared with a [`Top`].
pub(super) const STEP: usize = 4;

/// The position of an index.
#[inline]
pub(super) const fn position(index: usize) -> usize {
    index.wrapping_mul(STEP)
}

/// The index of a position, without the bits that position has no room for.
#[inline]
pub(super) const fn index(position: usize) -> usize {
    position / STEP
}

/// How many elements there are from one position to another, across the wrap-around.
#[inline]
pub(super) const fn distance(from: usize, to: usize) -> isize {
    to.wrapping_sub(from).cast_signed() / STEP.cast_signed()
}

/// The owner takes no fence; a thief has it take one, see `bias`. All elements from the position on
/// are the owner's without an exchange.
const BIASED: usize = 0;
/// As biased, but the element at the position may have been read by a thief, so the owner takes it by
/// an exchange. Then this is over.
const BIASED_BEYOND: usize = 1;
/// The owner takes a fence in each pop, and thieves take one.
const FENCED: usize = 2;
/// A thief is on the way from biased to fenced: the owner takes fences, if it has seen this.
const REVOKING: usize = 3;
const MODE: usize = STEP - 1;

/// Fenced and revoking have this bit, the others have not.
const TAKES_FENCES: usize = 2;
/// How much more than the position is in the word while the owner takes fences: so much that no
/// element is beyond it. Nor is the position before the first one.
const AWAY: usize = isize::MAX.cast_unsigned() + 1 - 2 * STEP;

/// Who brings the fence between the owner and its thieves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Fenced,
    Biased,
    Revoking,
}

/// The position of the oldest element, and the mode, in one word.
///
/// It is made so that the owner of a deque learns by one comparison whether an element is its own
/// without a fence and without an exchange, see [`leaves_to_owner`](Self::leaves_to_owner).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Top(usize);

impl Top {
    #[inline]
    const fn new(position: usize, mode: usize) -> Self {
        let away = if mode & TAKES_FENCES == 0 { 0 } else { AWAY };
        Self(position.wrapping_add(away) | mode)
    }

    #[inline]
    pub(super) const fn position(self) -> usize {
        let away = if self.0 & TAKES_FENCES == 0 { 0 } else { AWAY };
        (self.0 & !MODE).wrapping_sub(away)
    }

    #[inline]
    pub(super) const fn is_biased(self) -> bool {
        self.0 & TAKES_FENCES == 0
    }

    pub(super) const fn mode(self) -> Mode {
        match self.0 & MODE {
            FENCED => Mode::Fenced,
            REVOKING => Mode::Revoking,
            _ => Mode::Biased,
        }
    }

    /// Whether the newest element, at this position, is the owner's without more ado: the deque is
    /// biased, and neither is the element taken nor has a thief read it before that.
    #[inline]
    pub(super) const fn leaves_to_owner(self, newest: usize) -> bool {
        newest.wrapping_sub(self.0).cast_signed() >= 0
    }

    /// The same position, with fences.
    pub(super) const fn fenced(self) -> Self {
        Self::new(self.position(), FENCED)
    }

    /// So many elements further, in the same mode; but what was read before the deque was biased is
    /// behind.
    #[inline]
    const fn after(self, count: usize) -> Self {
        let further = self.0.wrapping_add(count * STEP);
        if self.0 & MODE == BIASED_BEYOND {
            Self(further - (BIASED_BEYOND - BIASED))
        } else {
            Self(further)
        }
    }
}

impl fmt::Debug for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", index(self.position()), self.mode())
    }
}

/// Where the [`Top`] is kept, and what owner and thieves tell each other about its mode.
pub(super) struct AtomicTop {
    word: AtomicUsize,
    /// The owner has seen that it is revoked. Written by the owner.
    is_answered: AtomicBool,
    /// The last revocation needed no process fence. Written by the thief that revokes.
    was_answered: AtomicBool,
}

impl AtomicTop {
    const_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                word: AtomicUsize::new(Top::new(0, FENCED).0),
                is_answered: AtomicBool::new(false),
                was_answered: AtomicBool::new(false),
            }
        }
    }

    #[inline]
    pub(super) fn load(&self, ordering: Ordering) -> Top {
        Top(self.word.load(ordering))
    }

    /// Only for one who has the deque for itself.
    pub(super) fn start_at(&self, index: usize) {
        // Ordering: Relaxed, nobody else has the deque.
        let top = Top::new(position(index), FENCED);
        self.word.store(top.0, Ordering::Relaxed);
    }

    /// Takes the oldest elements by moving on from what the caller has read, on whose strength it
    /// has copied the words of `count` elements.
    ///
    /// # Errors
    /// What is there instead, if another was faster or the mode has changed.
    #[inline]
    pub(super) fn claim(&self, top: Top, count: usize) -> Result<(), Top> {
        // Ordering: Release keeps the reads of the slots before this exchange: the owner that
        // reads the new top (Acquire, in `Worker::has_room`) may overwrite them. Relaxed would
        // let a thief win with words of a later element. Acquire would add nothing: what the
        // words refer to came with `bottom`. Not SeqCst: the fences decide what `top` and
        // `bottom` each side sees, and this exchange acts on `top` alone.
        let claimed = top.after(count);
        let exchange =
            self.word
                .compare_exchange(top.0, claimed.0, Ordering::Release, Ordering::Relaxed);
        exchange.map(drop).map_err(Top)
    }

    /// Biased to revoking. Whoever gets true, and nobody else, must [end](Self::end_revocation) it.
    pub(super) fn begin_revocation(&self, top: Top) -> bool {
        debug_assert_eq!(top.mode(), Mode::Biased);
        let revoking = Top::new(top.position(), REVOKING);
        // Ordering: Acquire pairs with `bias`, which may be a later one than the caller's look has
        // seen: an answer that we find is not one to an earlier revocation. The process fence, or
        // the answer, orders this before all that the owner does from then on.
        self.word
            .compare_exchange(top.0, revoking.0, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Tells thieves that all pops from now on take fences. Only by the owner, when it has read the
    /// mode revoking and taken a fence.
    pub(super) fn answer(&self) {
        // Ordering: Relaxed. The fence before it, and that of a thief that sees it, hand on every
        // `bottom` that was written without one.
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// Whether the owner has answered the revocation that is under way. Who sees that takes a full
    /// fence before relying on it.
    pub(super) fn is_answered(&self) -> bool {
        // Ordering: Relaxed, the caller's fence makes it as good as Acquire.
        self.is_answered.load(Ordering::Relaxed)
    }

    /// Whether the last revocation needed no process fence: an estimate of what the next one costs.
    pub(super) fn was_answered(&self) -> bool {
        // Ordering: Relaxed, an old value makes a worse estimate.
        self.was_answered.load(Ordering::Relaxed)
    }

    /// Revoking to fenced, wherever the position is by now. Only by the thief that began it.
    pub(super) fn end_revocation(&self, was_answered: bool) {
        // Ordering: Relaxed, for an estimate.
        self.was_answered.store(was_answered, Ordering::Relaxed);
        // Ordering: Release hands on the process fence or the answer to thieves that find the mode
        // (Acquire in `Stealer::look`): they rely on it as if it had been theirs.
        let before = Top(self.word.fetch_sub(REVOKING - FENCED, Ordering::Release));
        debug_assert_eq!(before.mode(), Mode::Revoking);
    }

    /// Fenced to biased. Only by the owner.
    pub(super) fn bias(&self, top: Top) -> bool {
        debug_assert_eq!(top.mode(), Mode::Fenced);
        let biased = Top::new(top.position(), BIASED_BEYOND);
        // Ordering: Relaxed, the exchange releases it to whoever revokes.
        self.is_answered.store(false, Ordering::Relaxed);
        // Ordering: Release hands on the owner's pops to thieves that find this or a later mode
        // (Acquire in `Stealer::look`): they need no fence to see the `bottom` of those. That it
        // reads the newest value tells the owner every position until now, see `bias`.
        self.word
            .compare_exchange(top.0, biased.0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}
