//! Pops without a fence.

use core::num::NonZeroU32;

use sleep_primitives::AsymmetricFence;

mod budget;

pub(super) use budget::{BudgetStep, RebiasBudget};

#[doc = include_str!("bias/README.md")]
///
/// # Safety
/// 1. After [`price`](Self::price) has returned `Some`, a call of [`heavy`](AsymmetricFence::heavy)
///    that returns true and a [`compiler_fence`] on another thread that may own a deque with this
///    fence are ordered as two sequentially consistent fences are: one of the two comes first, and
///    whatever its thread wrote before it is visible after the other.
/// 2. `price` does not unwind.
///
/// `heavy` and `price` may use any deque, also the one that calls them.
///
/// # Examples
/// ```
/// use std::num::NonZeroU32;
///
/// use deque_core::{AsymmetricFence, Deque, FencePrice, Order};
///
/// /// For a program with one thread, where there is nothing to order.
/// struct SingleThreaded;
///
/// // SAFETY: 1. and 2. there is no other thread; 3. neither function unwinds.
/// unsafe impl AsymmetricFence for SingleThreaded {
///     fn light() {}
///
///     fn heavy() -> bool {
///         true
///     }
/// }
///
/// // SAFETY: 1. there is no other thread; 2. the function does not unwind.
/// unsafe impl FencePrice for SingleThreaded {
///     fn price() -> Option<NonZeroU32> {
///         NonZeroU32::new(4)
///     }
/// }
///
/// let deque = Deque::growable(Order::Lifo).with_process_fence::<SingleThreaded>();
/// # let worker = deque.worker()?;
/// # worker.push(1);
/// # for job in 2..10 {
/// #     worker.push(job);
/// #     assert_eq!(worker.pop(), Some(job));
/// # }
/// # Ok::<(), deque_core::AlreadyOwned>(())
/// ```
///
/// [`compiler_fence`]: core::sync::atomic::compiler_fence
#[doc(alias = "ProcessFence")]
#[doc(alias = "membarrier")]
pub unsafe trait FencePrice: AsymmetricFence {
    /// Returns how many pops' fences cost as much as one heavy fence, as far as its price is known
    /// now. Returns `None` if a heavy fence is not possible yet, or will not be possible for a
    /// while. Owners then continue with fences, and ask again much later.
    ///
    /// After this has returned `Some` once, `heavy` may be called at any time. If that has become
    /// impossible, this should return `None`. Otherwise owners bias deques from which thieves
    /// cannot steal at once.
    ///
    /// An operating system may revoke what it has granted before: then `heavy` returns false. The
    /// thief leaves the element alone and answers [`Retry`](crate::Steal::Retry), until the owner
    /// has seen the revocation, which its next pop does. From then on the owner of that deque takes
    /// a fence in each pop.
    fn price() -> Option<NonZeroU32>;
}

/// The functions of a [`FencePrice`], so that the type of a deque does not depend on it.
pub(super) struct ProcessFence {
    pub(super) heavy: fn() -> bool,
    pub(super) price: fn() -> Option<NonZeroU32>,
}

impl ProcessFence {
    /// Returns the functions of `F`.
    pub(super) const fn of<F: FencePrice>() -> &'static Self {
        const {
            &Self {
                heavy: F::heavy,
                price: F::price,
            }
        }
    }
}

/// Whether the processor makes a store visible to all other processors at once, according to the
/// documents of its architecture: it is multi-copy atomic. Elsewhere deques stay fenced, as the
/// documentation of [`FencePrice`] says.
///
/// # Examples
/// A fence whose light half only binds the compiler needs such a processor:
/// ```
/// const LIGHT_FENCES_ARE_FREE: bool = deque_core::IS_MULTI_COPY_ATOMIC;
/// assert!(LIGHT_FENCES_ARE_FREE || !cfg!(target_arch = "x86_64"));
/// ```
pub const IS_MULTI_COPY_ATOMIC: bool = cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "aarch64",
    target_arch = "arm64ec",
    target_arch = "riscv32",
    target_arch = "riscv64",
    target_arch = "s390x",
));
