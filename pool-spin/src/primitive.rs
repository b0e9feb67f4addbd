//! The one place where this crate chooses its atomics: `portable-atomic`, which is
//! `core::sync::atomic` where the target has what we need.

pub(crate) use core::hint::spin_loop;
pub(crate) use portable_atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
