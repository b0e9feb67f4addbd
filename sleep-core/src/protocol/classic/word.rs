//! The integers that the state can be packed into.

use crate::primitive::{AtomicU16, AtomicU32, AtomicUsize, Ordering};

/// An integer that the state of a [`Classic`](crate::Classic) is packed into: `u16`, `u32` or
/// `usize`.
///
/// A word of `n` bits names at most 2ⁿ⁻¹ − 1 workers, since one bit says that workers sleep, and
/// zero says that no worker is sleepy. No other type implements the trait.
///
/// # Examples
/// See [`Classic`](crate::Classic).
pub trait Word: sealed::Word {
    /// The greatest number of workers that the word can name.
    const MAX_WORKERS: usize;
}

pub(super) mod sealed {
    use super::Ordering;

    /// The atomic operations of the protocol, on any width. Values are passed as `usize`.
    pub trait Word: 'static {
        type Atomic: Send + Sync;

        #[cfg(not(loom))]
        const ZERO: Self::Atomic;

        #[cfg(loom)]
        fn zero() -> Self::Atomic;

        fn load(atomic: &Self::Atomic, ordering: Ordering) -> usize;

        fn swap(atomic: &Self::Atomic, value: usize, ordering: Ordering) -> usize;

        fn compare_exchange(
            atomic: &Self::Atomic,
            current: usize,
            new: usize,
            success: Ordering,
            failure: Ordering,
        ) -> Result<usize, usize>;

        fn fetch_add(atomic: &Self::Atomic, value: usize, ordering: Ordering) -> usize;

        fn fetch_sub(atomic: &Self::Atomic, value: usize, ordering: Ordering) -> usize;
    }
}

/// Implements [`Word`] for an integer by its atomic. No value is truncated: those that the protocol
/// writes were in the word before, or name one of at most [`Word::MAX_WORKERS`] workers.
macro_rules! word {
    ($integer:ty, $atomic:ty) => {
        impl Word for $integer {
            const MAX_WORKERS: usize = (<$integer>::MAX >> 1) as usize;
        }

        impl sealed::Word for $integer {
            type Atomic = $atomic;

            #[cfg(not(loom))]
            #[allow(clippy::declare_interior_mutable_const)]
            const ZERO: $atomic = <$atomic>::new(0);

            #[cfg(loom)]
            fn zero() -> $atomic {
                <$atomic>::new(0)
            }

            #[inline(always)]
            fn load(atomic: &$atomic, ordering: Ordering) -> usize {
                atomic.load(ordering) as usize
            }

            #[inline(always)]
            fn swap(atomic: &$atomic, value: usize, ordering: Ordering) -> usize {
                atomic.swap(value as $integer, ordering) as usize
            }

            #[inline(always)]
            fn compare_exchange(
                atomic: &$atomic,
                current: usize,
                new: usize,
                success: Ordering,
                failure: Ordering,
            ) -> Result<usize, usize> {
                atomic
                    .compare_exchange(current as $integer, new as $integer, success, failure)
                    .map(|old| old as usize)
                    .map_err(|now| now as usize)
            }

            #[inline(always)]
            fn fetch_add(atomic: &$atomic, value: usize, ordering: Ordering) -> usize {
                atomic.fetch_add(value as $integer, ordering) as usize
            }

            #[inline(always)]
            fn fetch_sub(atomic: &$atomic, value: usize, ordering: Ordering) -> usize {
                atomic.fetch_sub(value as $integer, ordering) as usize
            }
        }
    };
}

word!(u16, AtomicU16);
word!(u32, AtomicU32);
word!(usize, AtomicUsize);
