//! The one place where this crate chooses its atomics.
//!
//! - normally: `portable-atomic`, which is `core::sync::atomic` where the target has what we need
//!   and something equivalent where it has not;
//! - under `--cfg loom`: loom's, so that models explore every interleaving of the code that ships.

#[cfg(loom)]
pub(crate) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicU8, AtomicU64 as AtomicWord, Ordering, fence},
};

#[cfg(not(loom))]
pub(crate) use core::hint::spin_loop;
#[cfg(all(not(loom), not(target_has_atomic = "64")))]
pub(crate) use portable_atomic::AtomicU32 as AtomicWord;
#[cfg(all(not(loom), target_has_atomic = "64"))]
pub(crate) use portable_atomic::AtomicU64 as AtomicWord;
#[cfg(not(loom))]
pub(crate) use portable_atomic::{AtomicU8, Ordering, fence};

/// Defines a function that is `const` except under loom, whose atomics cannot be made in a
/// constant.
macro_rules! const_unless_loom {
    ($(#[$meta:meta])* $vis:vis fn $($rest:tt)*) => {
        #[cfg(not(loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
