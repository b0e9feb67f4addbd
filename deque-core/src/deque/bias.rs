//! Pops without a fence.

use core::num::NonZeroU32;

mod budget;

pub(super) use budget::{BudgetStep, RebiasBudget};

#[doc = include_str!("bias/README.md")]
///
/// # Safety
/// 1. A call of [`fence_all`](Self::fence_all) that returns true and a [`compiler_fence`] on another thread that may
///    own a deque with this fence are ordered as two sequentially consistent fences are: one of the
///    two comes first, and whatever its thread wrote before it is visible after the other.
/// 2. Neither function unwinds.
///
/// Both functions may use any deque, also the one that calls them.
///
/// [`compiler_fence`]: core::sync::atomic::compiler_fence
pub unsafe trait ProcessFence: Sync {
    /// Makes every thread of the process take a fence, including the caller, and returns true; or
    /// returns false if that is impossible now.
    ///
    /// An operating system may take back what it has granted before. After a false answer a thief leaves
    /// the element alone and answers [`Retry`](crate::Steal::Retry), until the owner has seen the
    /// revocation, which its next pop does. From then on the owner of that deque takes a fence in each pop.
    #[must_use]
    fn fence_all(&self) -> bool;

    /// Returns how many pops' fences cost as much as one call of [`fence_all`](Self::fence_all), as far as
    /// its price is known now. Returns `None` if it cannot be called yet, or not any more for a while:
    /// then owners go on with fences, and ask again much later.
    ///
    /// After this has returned `Some` once, `fence_all` may be called at any time. If that has become
    /// impossible, this should return `None`. Otherwise owners bias deques from which thieves cannot steal
    /// at once.
    fn price(&self) -> Option<NonZeroU32>;
}

/// Whether the processor makes a store visible to all other processors at once, according to the
/// documents of its architecture. Elsewhere deques stay fenced, see the front page of [`ProcessFence`].
pub(super) const IS_MULTI_COPY_ATOMIC: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "arm64ec",
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "s390x",
));
