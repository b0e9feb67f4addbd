//! The mutex around the accounting of blocked workers.

use std::sync::{
    PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use pool_core::accounting::{GuardNoSend, RawMutex};

use crate::{
    panics::abort_with,
    sync::{Condvar, Mutex, lock},
};

/// Why the process aborts.
pub(crate) const WAITED_FOR_ITSELF: &str =
    "pool-std: a deadlock handler waited for its own pool; aborting";

/// A mutex of the standard library in the form that `sleep-core` takes.
///
/// A thread that locks it twice aborts the process with a message: a deadlock handler runs under
/// this lock, and would wait for itself if it waited for its own pool.
///
/// It asks the system to wake a thread only if one waits. Each thread of a pool locks it when it
/// starts, and when it ends.
pub(crate) struct OsMutex {
    state: Mutex<State>,
    unlocked: Condvar,
    /// The thread that holds the lock, as a number from [`this_thread`], or 0.
    owner: AtomicUsize,
}

struct State {
    is_locked: bool,
    /// How many threads wait until it is not.
    waiting: usize,
}

// SAFETY: `lock` and `try_lock` return (with true) only after this thread has changed `is_locked`
// from false to true, under a lock; only `unlock`, which the holder calls, changes it back.
unsafe impl RawMutex for OsMutex {
    // The trait wants a constant, which each mutex copies.
    #[allow(clippy::declare_interior_mutable_const)]
    const INIT: Self = Self {
        state: Mutex::new(State {
            is_locked: false,
            waiting: 0,
        }),
        unlocked: Condvar::new(),
        owner: AtomicUsize::new(0),
    };

    type GuardMarker = GuardNoSend;

    fn lock(&self) {
        let this_thread = this_thread();
        // Ordering: Relaxed; only this thread writes its own number here, and takes it away again.
        if self.owner.load(Ordering::Relaxed) == this_thread {
            abort_with(WAITED_FOR_ITSELF);
        }
        let mut state = lock(&self.state);
        state.waiting += 1;
        // Liveness: the holder unlocks under the same lock as this wait, finds this thread among
        // those that wait, and notifies one of them.
        let state = self.unlocked.wait_while(state, |state| state.is_locked);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state.is_locked = true;
        // Ordering: Relaxed, as above.
        self.owner.store(this_thread, Ordering::Relaxed);
    }

    fn try_lock(&self) -> bool {
        let mut state = lock(&self.state);
        if state.is_locked {
            return false;
        }
        state.is_locked = true;
        // Ordering: Relaxed, see `lock`.
        self.owner.store(this_thread(), Ordering::Relaxed);
        true
    }

    unsafe fn unlock(&self) {
        // Ordering: Relaxed, see `lock`.
        self.owner.store(0, Ordering::Relaxed);
        let mut state = lock(&self.state);
        state.is_locked = false;
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.unlocked.notify_one();
        }
    }
}

/// Returns a number that no other living thread has.
pub(crate) fn this_thread() -> usize {
    thread_local!(static MARKER: u8 = const { 0 });
    MARKER.with(|marker| std::ptr::from_ref(marker).addr())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn one_thread_at_a_time_holds_the_lock() {
        const ROUNDS: usize = if cfg!(miri) { 10 } else { 1_000 };
        let (mutex, total) = (OsMutex::INIT, AtomicUsize::new(0));
        thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| {
                    for _ in 0..ROUNDS {
                        mutex.lock();
                        let before = total.load(Ordering::Relaxed);
                        thread::yield_now();
                        total.store(before + 1, Ordering::Relaxed);
                        // SAFETY: this thread locked it above.
                        unsafe { mutex.unlock() };
                    }
                });
            }
        });
        assert_eq!(total.into_inner(), 3 * ROUNDS);
    }

    #[test]
    fn a_lock_that_is_held_cannot_be_tried() {
        let mutex = OsMutex::INIT;
        assert!(mutex.try_lock());
        assert!(mutex.is_locked());
        thread::scope(|threads| threads.spawn(|| assert!(!mutex.try_lock())).join().unwrap());
        // SAFETY: this thread locked it above.
        unsafe { mutex.unlock() };
        assert!(!mutex.is_locked());
    }
}
