//! The two ends of a deque.
//!
//! The thieves' end is one word with the oldest element's position and the mode. The owner's end is
//! the position after the newest element, beside a flag.

use core::fmt;

use super::position::Position;
use crate::{
    batch,
    primitive::{AtomicBool, AtomicUsize, Ordering},
};

#[cfg(all(test, not(loom)))]
mod tests;

// The five encodings of the mode, in the three bits that a position leaves free. The README's
// number line shows where each one puts the word.

/// The owner takes no fence; a thief makes it take one, see `bias`. Every element from the position
/// on is the owner's without an exchange.
const BIASED: usize = 0;
/// Biased, but a thief may have read the element at the position before. The owner takes that
/// element by an exchange, which ends this encoding.
const BIASED_BEYOND: usize = 1;
/// The owner takes a fence in each pop, and thieves take one.
const FENCED: usize = 2;
/// A thief is about to change biased to fenced: the owner takes fences as soon as it has seen this.
const REVOKING: usize = 3;
/// Fenced, and a thief may take a batch by one exchange: as many of the oldest elements as
/// [`MAX_CLAIM`]. The owner ends this before it takes one of those without an exchange.
const OPEN: usize = FENCED | 4;
/// The bits of the mode.
const MODE: usize = Position::STEP - 1;

/// This bit is set in the modes in which the owner takes fences.
const FENCED_BIT: usize = 2;
/// What is added to the position while the owner takes fences. It is so large that neither an
/// element's position nor the one before the first element lies beyond the word.
const FENCED_OFFSET: usize = isize::MAX.cast_unsigned() + 1 - 2 * Position::STEP;

/// The most elements that a thief takes from a LIFO deque by one exchange.
pub(super) const MAX_CLAIM: usize = if cfg!(loom) { 2 } else { batch::MAX_BATCH };

/// How the owner and its thieves divide the fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Owner and thieves execute a fence.
    Fenced,
    /// Owner and thieves execute a fence, and a thief may take a batch by one exchange.
    Open,
    /// The owner executes no fence; a thief revokes the bias before it steals.
    Biased,
    /// A thief is revoking the bias.
    Revoking,
}

/// The position of the oldest element, and the mode, in one word.
///
/// It is encoded so that the owner learns by one comparison whether an element is its own without a
/// fence and without an exchange, see [`is_owner_exclusive`](Self::is_owner_exclusive).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Top(usize);

impl Top {
    #[inline]
    const fn new(position: Position, mode: usize) -> Self {
        Self(position.into_word().wrapping_add(Self::offset(mode)) | mode)
    }

    /// Returns what is added to the position in a word with these mode bits.
    #[inline]
    const fn offset(word: usize) -> usize {
        if word & FENCED_BIT == 0 {
            0
        } else {
            FENCED_OFFSET
        }
    }

    /// Returns the position of the oldest element.
    #[inline]
    pub(super) const fn position(self) -> Position {
        Position::from_word((self.0 & !MODE).wrapping_sub(Self::offset(self.0)))
    }

    /// Whether the owner takes no fences.
    #[inline]
    pub(super) const fn is_biased(self) -> bool {
        self.0 & FENCED_BIT == 0
    }

    /// Returns the mode. Both biased encodings are one mode.
    pub(super) const fn mode(self) -> Mode {
        match self.0 & MODE {
            FENCED => Mode::Fenced,
            OPEN => Mode::Open,
            REVOKING => Mode::Revoking,
            _ => Mode::Biased,
        }
    }

    /// Whether the newest element, at this position, is the owner's without a fence or an exchange:
    /// the deque is biased, the element is not taken, and no thief has read it before the bias.
    #[inline]
    pub(super) const fn is_owner_exclusive(self, newest: Position) -> bool {
        newest.into_word().wrapping_sub(self.0).cast_signed() >= 0
    }

    /// Whether the owner and thieves take fences, and no revocation is under way.
    #[inline]
    pub(super) const fn is_fenced(self) -> bool {
        matches!(self.mode(), Mode::Fenced | Mode::Open)
    }

    /// Whether a thief may take the element at this position by a claim that begins at this word,
    /// or has begun at an earlier one: then the owner must not take it without an exchange.
    pub(super) fn may_claim(self, newest: Position) -> bool {
        let reach = match self.mode() {
            Mode::Open => MAX_CLAIM,
            _ => 1,
        };
        self.position().distance_to(newest) < reach.cast_signed()
    }

    /// Returns the same position in fenced mode.
    pub(super) const fn fenced(self) -> Self {
        Self::new(self.position(), FENCED)
    }

    /// Returns the word after `count` more elements are taken. The mode stays the same, but the
    /// element that a thief may have read before the bias is left behind.
    #[inline]
    const fn advanced_by(self, count: usize) -> Self {
        let further = self.0.wrapping_add(count * Position::STEP);
        if self.0 & MODE == BIASED_BEYOND {
            Self(further - (BIASED_BEYOND - BIASED))
        } else {
            Self(further)
        }
    }
}

impl fmt::Debug for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.position().index(), self.mode())
    }
}

/// The shared [`Top`], and what the owner and the thieves tell each other about its mode.
pub(super) struct AtomicTop {
    word: AtomicUsize,
    /// The owner has seen that its bias is being revoked. Written by the owner.
    is_answered: AtomicBool,
    /// The last revocation needed no process fence. Written by the thief that revokes.
    was_answered: AtomicBool,
}

impl AtomicTop {
    const_unless_loom! {
        /// Creates a top at index zero, fenced.
        pub(super) fn new() -> Self {
            Self {
                word: AtomicUsize::new(Top::new(Position::from_index(0), FENCED).0),
                is_answered: AtomicBool::new(false),
                was_answered: AtomicBool::new(false),
            }
        }
    }

    /// Returns the current word.
    #[inline]
    pub(super) fn load(&self, ordering: Ordering) -> Top {
        Top(self.word.load(ordering))
    }

    /// Moves the position of a deque that no other thread can access.
    pub(super) fn start_at(&self, position: Position) {
        // Ordering: Relaxed, no other thread can access the deque.
        let top = Top::new(position, FENCED);
        self.word.store(top.0, Ordering::Relaxed);
    }

    /// Takes the `count` oldest elements, whose words the caller has copied after it has read
    /// `top`.
    ///
    /// # Errors
    /// Returns the current word if another thread was faster or the mode has changed.
    #[inline]
    pub(super) fn claim(&self, top: Top, count: usize) -> Result<(), Top> {
        // Ordering: Release keeps the reads of the cells before this exchange: the owner that
        // reads the new top (Acquire, in `Worker::make_room`) may overwrite them. Relaxed would
        // let a thief win with words of a later element. Acquire would add nothing: what the
        // words refer to came with `bottom`. Not SeqCst: the fences decide what `top` and
        // `bottom` each side sees, and this exchange acts on `top` alone.
        let claimed = top.advanced_by(count);
        let exchange =
            self.word
                .compare_exchange(top.0, claimed.0, Ordering::Release, Ordering::Relaxed);
        exchange.map(drop).map_err(Top)
    }

    /// Takes the oldest element as [`claim`](Self::claim) does, and changes fenced to open.
    ///
    /// An exchange that opens always takes an element. So an open word never recurs at the same
    /// position, and a claim on an outdated one fails.
    ///
    /// # Errors
    /// As `claim`.
    pub(super) fn claim_and_open(&self, top: Top) -> Result<(), Top> {
        debug_assert_eq!(top.mode(), Mode::Fenced);
        let open = Top::new(top.position().plus(1), OPEN);
        // Ordering: as in `claim`.
        self.word
            .compare_exchange(top.0, open.0, Ordering::Release, Ordering::Relaxed)
            .map(drop)
            .map_err(Top)
    }

    /// Changes open to fenced. Only the owner calls this, after a full fence and before it takes an
    /// element without an exchange that a batch could reach.
    ///
    /// # Errors
    /// Returns the current word if a thief was faster.
    pub(super) fn close(&self, top: Top) -> Result<(), Top> {
        debug_assert_eq!(top.mode(), Mode::Open);
        // Ordering: Relaxed. This exchange makes the claim of a thief fail if the thief read the
        // word before it. Thieves that read this word or a later one are held off by the owner's
        // fence, as in `claim`.
        self.word
            .compare_exchange(top.0, top.fenced().0, Ordering::Relaxed, Ordering::Relaxed)
            .map(drop)
            .map_err(Top)
    }

    /// Changes biased to revoking. If this returns true, the caller alone must
    /// [end](Self::end_revocation) the revocation.
    pub(super) fn begin_revocation(&self, top: Top) -> bool {
        debug_assert_eq!(top.mode(), Mode::Biased);
        let revoking = Top::new(top.position(), REVOKING);
        // Ordering: Acquire pairs with `bias`, which may be a later one than the caller has
        // seen: an answer that we find is not one to an earlier revocation. The process fence, or
        // the answer, orders this before all that the owner does from then on.
        self.word
            .compare_exchange(top.0, revoking.0, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Tells thieves that all pops from now on take fences. Only the owner calls this, after it has
    /// read the mode revoking and taken a fence.
    pub(super) fn answer(&self) {
        // Ordering: Relaxed. The fence before it, and that of a thief that sees it, make every
        // `bottom` visible that was written without a fence.
        self.is_answered.store(true, Ordering::Relaxed);
    }

    /// Whether the owner has answered the revocation that is under way. A thief that sees an answer
    /// takes a full fence before it relies on it.
    pub(super) fn is_answered(&self) -> bool {
        // Ordering: Relaxed, the caller's fence makes it as good as Acquire.
        self.is_answered.load(Ordering::Relaxed)
    }

    /// Whether the last revocation needed no process fence: an estimate of what the next one costs.
    pub(super) fn was_answered(&self) -> bool {
        // Ordering: Relaxed, an old value makes a worse estimate.
        self.was_answered.load(Ordering::Relaxed)
    }

    /// Changes revoking to fenced, at whatever position is current. Only the thief that began the
    /// revocation calls this.
    pub(super) fn end_revocation(&self, was_answered: bool) {
        // Ordering: Relaxed, an estimate.
        self.was_answered.store(was_answered, Ordering::Relaxed);
        // Ordering: Release passes the process fence or the answer on to thieves that find the mode
        // (Acquire in `Stealer::observe`): they rely on it as if it had been theirs.
        let before = Top(self.word.fetch_sub(REVOKING - FENCED, Ordering::Release));
        debug_assert_eq!(before.mode(), Mode::Revoking);
    }

    /// Changes fenced to biased, and returns whether it did. Only the owner calls this.
    pub(super) fn bias(&self, top: Top) -> bool {
        debug_assert!(top.is_fenced());
        let biased = Top::new(top.position(), BIASED_BEYOND);
        // Ordering: Relaxed, the exchange releases it to the thief that revokes.
        self.is_answered.store(false, Ordering::Relaxed);
        // Ordering: Release passes the owner's pops on to thieves that find this or a later mode
        // (Acquire in `Stealer::observe`): they need no fence to see the `bottom` of those. An
        // exchange reads the newest value, so the owner knows every position until now, see `bias`.
        self.word
            .compare_exchange(top.0, biased.0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Changes biased to fenced without a revocation, and returns whether it did. Only the owner
    /// calls this.
    pub(super) fn unbias(&self, top: Top) -> bool {
        debug_assert_eq!(top.mode(), Mode::Biased);
        // Ordering: Release hands the owner's pops without a fence to thieves that find the mode
        // fenced (Acquire in `Stealer::observe`): they see the `bottom` of each.
        self.word
            .compare_exchange(top.0, top.fenced().0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }
}

/// The position after the newest element, and whether the owner's fast push is disabled. Only the
/// owner writes the position.
pub(super) struct AtomicBottom {
    position: AtomicUsize,
    /// Set by any thread, reset by the owner. It is on the cache line that each push writes
    /// anyway.
    fast_push_disabled: AtomicBool,
}

impl AtomicBottom {
    const_unless_loom! {
        /// Creates a bottom at position zero, with fast push disabled.
        pub(super) fn new() -> Self {
            Self {
                position: AtomicUsize::new(0),
                fast_push_disabled: AtomicBool::new(true),
            }
        }
    }

    /// Moves the position of a deque that no other thread can access.
    pub(super) fn start_at(&self, position: Position) {
        // Ordering: Relaxed, no other thread can access the deque.
        self.position.store(position.into_word(), Ordering::Relaxed);
    }

    /// Returns the position.
    #[inline]
    pub(super) fn load(&self, ordering: Ordering) -> Position {
        Position::from_word(self.position.load(ordering))
    }

    /// Makes the elements before `position` visible to thieves.
    #[inline]
    pub(super) fn publish(&self, position: Position) {
        // Ordering: Release pairs with the thief's Acquire of `bottom` in `Stealer`: the thief must
        // see the cells, and what the elements refer to. (A release fence with a relaxed store, as
        // in the paper, does the same, but ThreadSanitizer does not model fences.)
        self.position.store(position.into_word(), Ordering::Release);
    }

    /// Whether fast push is enabled.
    #[inline]
    pub(super) fn fast_push_enabled(&self) -> bool {
        // Ordering: Relaxed. A fence of the owner (`Worker::enable_fast_push`) or a process fence
        // orders this load after the owner's push. What the disabling thread has announced is read
        // after a fence.
        !self.fast_push_disabled.load(Ordering::Relaxed)
    }

    /// Enables fast push, see [`Worker::enable_fast_push`](super::Worker::enable_fast_push). Only
    /// the owner calls this.
    pub(super) fn enable_fast_push(&self) {
        // Ordering: Relaxed, the caller's fence orders it.
        self.fast_push_disabled.store(false, Ordering::Relaxed);
    }

    /// Disables fast push, see [`Deque::disable_fast_push`](super::Deque::disable_fast_push).
    /// Returns whether it was enabled.
    pub(super) fn disable_fast_push(&self) -> bool {
        // Load first: each push reads the flag, so a needless store would cost the owner a cache
        // miss.
        let was_enabled = self.fast_push_enabled();
        if was_enabled {
            // Ordering: Relaxed, the caller's fences order it.
            self.fast_push_disabled.store(true, Ordering::Relaxed);
        }
        was_enabled
    }
}
