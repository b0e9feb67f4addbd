//! The thieves' end: a word with an index and who brings the fence, and what goes with that.

use core::fmt;

use crate::primitive::{AtomicBool, AtomicUsize, Ordering};

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

/// The owner takes a fence in each pop, and thieves take one.
const FENCED: usize = 0;
/// The owner takes none; a thief has it take one, see `bias`.
const BIASED: usize = 1;
/// A thief is on the way from biased to fenced: the owner takes fences, if it has seen this.
const REVOKING: usize = 2;
const MODE: usize = STEP - 1;

/// Who brings the fence between the owner and its thieves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Fenced,
    Biased,
    Revoking,
}

/// The position of the oldest element, and the mode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Top(usize);

impl Top {
    #[inline]
    pub(super) const fn position(self) -> usize {
        self.0 & !MODE
    }

    #[inline]
    pub(super) const fn is_biased(self) -> bool {
        self.0 & BIASED != 0
    }

    pub(super) const fn mode(self) -> Mode {
        match self.0 & MODE {
            FENCED => Mode::Fenced,
            BIASED => Mode::Biased,
            _ => Mode::Revoking,
        }
    }

    /// The same position, with fences.
    pub(super) const fn fenced(self) -> Self {
        Self(self.position() | FENCED)
    }

    /// So many elements further, in the same mode.
    #[inline]
    const fn after(self, count: usize) -> Self {
        Self(self.0.wrapping_add(count * STEP))
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
                word: AtomicUsize::new(FENCED),
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
        self.word.store(position(index) | FENCED, Ordering::Relaxed);
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
        let revoking = top.position() | REVOKING;
        // Ordering: Acquire pairs with `bias`, which may be a later one than the caller's look has
        // seen: an answer that we find is not one to an earlier revocation. The process fence, or
        // the answer, orders this before all that the owner does from then on.
        self.word
            .compare_exchange(top.0, revoking, Ordering::Acquire, Ordering::Relaxed)
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
        let biased = top.position() | BIASED;
        // Ordering: Relaxed, the exchange releases it to whoever revokes.
        self.is_answered.store(false, Ordering::Relaxed);
        // Ordering: Release hands on the owner's pops to thieves that find this or a later mode
        // (Acquire in `Stealer::look`): they need no fence to see the `bottom` of those. That it
        // reads the newest value tells the owner every position until now, see `bias`.
        self.word
            .compare_exchange(top.0, biased, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}
