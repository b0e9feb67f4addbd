//! The one place where this crate chooses its atomics.
//!
//! - normally: `portable-atomic`, which is `core::sync::atomic` where the target has what we need;
//! - under `--cfg loom` with the feature `loom`: loom's, so that models explore every interleaving of the parkers.

#[cfg(all(loom, not(feature = "loom")))]
compile_error!("`--cfg loom` needs the feature `loom` too: `--features loom`");

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(not(loom))]
pub(crate) use core::hint::spin_loop;
#[cfg(not(loom))]
pub(crate) use portable_atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

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
