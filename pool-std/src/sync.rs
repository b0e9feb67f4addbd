//! The locks of this crate, and statics without any.
//!
//! The locks are those of the standard library, except in a browser with the feature
//! `web_spin_lock`: its main thread must not wait, so it spins.

mod first;
#[cfg_attr(
    all(
        feature = "web_spin_lock",
        target_family = "wasm",
        target_os = "unknown",
        target_feature = "atomics"
    ),
    path = "sync/web.rs"
)]
mod locks;

use std::{hint, sync::PoisonError, thread, time::Duration};

pub(crate) use first::First;
pub(crate) use locks::{Condvar, Mutex, MutexGuard, OnceLock};

/// Locks a mutex of this crate, which a panic never leaves half-changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps for a moment. In a browser, whose main thread must not sleep, this returns at once.
pub(crate) fn nap(time: Duration) {
    if cfg!(all(target_family = "wasm", target_os = "unknown")) {
        hint::spin_loop();
    } else {
        thread::sleep(time);
    }
}
