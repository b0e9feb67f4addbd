//! The lock of the accounting: a mutex and a condition variable of the standard library.

use std::sync::{Condvar, Mutex, PoisonError};

use pool_core::accounting::{GuardSend, RawMutex};

/// A mutex without a guard.
///
/// The standard library's own mutex cannot be unlocked without one.
pub(crate) struct RawOsMutex {
    is_locked: Mutex<bool>,
    unlocked: Condvar,
}

// SAFETY: the flag is true exactly while a caller has the lock, and only a caller that finds it false
// makes it true.
unsafe impl RawMutex for RawOsMutex {
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self {
        is_locked: Mutex::new(false),
        unlocked: Condvar::new(),
    };
    type GuardMarker = GuardSend;

    fn lock(&self) {
        let is_locked = self
            .is_locked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Liveness: the thread that has the lock notifies when it unlocks; it waits for nothing meanwhile
        // but what a deadlock handler waits for.
        let mut is_locked = self
            .unlocked
            .wait_while(is_locked, |is_locked| *is_locked)
            .unwrap_or_else(PoisonError::into_inner);
        *is_locked = true;
    }

    fn try_lock(&self) -> bool {
        let mut is_locked = self
            .is_locked
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut *is_locked, true)
    }

    unsafe fn unlock(&self) {
        *self
            .is_locked
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = false;
        self.unlocked.notify_one();
    }
}
