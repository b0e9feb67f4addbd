//! Pops without a fence.

use core::{cell::Cell, num::NonZeroU32};

#[doc = include_str!("bias/README.md")]
///
/// # Safety
/// 1. A call of [`fence_all`](Self::fence_all) that returns true and a [`compiler_fence`] on another thread that may
///    own a deque with this fence are ordered as two sequentially consistent fences are: one of the
///    two is before the other, and whatever its thread wrote before it is seen after the other.
/// 2. Neither function unwinds.
///
/// Both functions may use any deque, also the one that calls them.
///
/// [`compiler_fence`]: core::sync::atomic::compiler_fence
pub unsafe trait ProcessFence: Sync {
    /// Has every thread of the process take a fence, also the one that calls, and returns true; or
    /// returns false if that is impossible now.
    ///
    /// An operating system may take back what it has granted before. After a false answer a thief
    /// leaves the element alone, and answers [`Retry`](crate::Steal::Retry), until the owner has
    /// seen that it is asked for a fence, which its next pop does. From then on the owner of that
    /// deque takes a fence in each pop.
    #[must_use]
    fn fence_all(&self) -> bool;

    /// Returns how many pops' fences cost as much as one call of [`fence_all`](Self::fence_all), by what
    /// is known of its price now. None if it cannot be called yet, or not any more for a while: then
    /// owners go on with fences, and ask again much later.
    ///
    /// After it was Some once, `fence_all` may be called at any time. If that has become impossible,
    /// this should be None, or owners bias deques from which thieves cannot steal at once.
    fn price(&self) -> Option<NonZeroU32>;
}

/// Whether a store becomes visible to all other processors at once, by the documents of the processor's
/// architecture. Elsewhere deques stay fenced, see the front page of [`ProcessFence`].
pub(super) const IS_MULTI_COPY_ATOMIC: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "arm64ec",
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "s390x",
));

/// After so many pops an owner asks again for a price that was not known.
const UNKNOWN_PRICE: u32 = if cfg!(test) { 100 } else { 10_000 };

/// How many pops' fences cost as much as a revocation that the owner answers: two cache misses of
/// each side, and the thief's wait for the next pop.
const ANSWER_PRICE: u32 = 128;

/// How long the owner of a deque goes on with fences.
///
/// Ski rental: it takes fences until these, since the last steal, have cost as much as the revocation
/// that taking none brings later, if it is like the last one. Then whatever comes costs at most twice
/// what the better choice would have.
pub(super) struct Patience {
    /// Pops until then; zero if it is not known.
    left: Cell<u32>,
    /// The position at which the last pop found `top`.
    top: Cell<usize>,
}

/// What an owner does after a pop with a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// Asks for the price anew, and begins to count.
    Begin,
    /// Biases the deque, if the price is known still.
    End,
}

impl Patience {
    pub(super) const fn new() -> Self {
        Self {
            left: Cell::new(0),
            top: Cell::new(0),
        }
    }

    /// Notes a pop with a fence, and tells what is to be done when the pop is over.
    #[inline]
    pub(super) fn note_pop(&self, top: usize) -> Due {
        let left = self.left.get();
        let is_stolen_from = self.top.replace(top) != top;
        if left > 1 && !is_stolen_from {
            self.left.set(left - 1);
            return Due::Nothing;
        }
        if left == 1 && !is_stolen_from {
            Due::End
        } else {
            Due::Begin
        }
    }

    /// Begins to count pops, or tells that enough have been counted: no pop need take a fence from now
    /// on. `was_answered` says whether the last revocation needed no process fence.
    ///
    /// The fence is the caller's code and may use the deque, so this is not for the middle of a pop.
    #[cold]
    pub(super) fn begin_or_end(
        &self,
        due: Due,
        fence: Option<&dyn ProcessFence>,
        was_answered: impl FnOnce() -> bool,
    ) -> bool {
        let Some(fence) = fence else {
            self.left.set(u32::MAX);
            return false;
        };
        let price = fence.price();
        if due == Due::End && price.is_some() {
            self.left.set(0);
            return true;
        }
        let most = if was_answered() {
            ANSWER_PRICE
        } else {
            u32::MAX
        };
        // Two at least, so that there is a pop between beginning and end.
        let pops = price.map_or(UNKNOWN_PRICE, |price| price.get().clamp(2, most));
        self.left.set(pops);
        false
    }

    /// The owner itself has moved `top`.
    #[inline]
    pub(super) fn follow(&self, top: usize) {
        self.top.set(top);
    }
}
