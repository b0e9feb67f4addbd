//! The latch of a thread that is not a worker.

use core::{fmt, mem::ManuallyDrop};

use super::Latch;
use crate::{
    platform::{Platform, Waiter},
    primitive::{AtomicBool, Ordering},
    unwind::no_unwind,
};

/// A latch on which a thread outside the pool waits by blocking.
///
/// # Examples
/// See [`Latch`].
pub struct BlockingLatch<P: Platform> {
    set: AtomicBool,
    waiter: ManuallyDrop<P::Waiter>,
}

impl<P: Platform> fmt::Debug for BlockingLatch<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockingLatch").finish_non_exhaustive()
    }
}

// SAFETY: only the one setter touches the handle, by moving it out; hence `Waiter: Send`.
unsafe impl<P: Platform> Sync for BlockingLatch<P> {}

impl<P: Platform> BlockingLatch<P> {
    /// Creates a latch for the calling thread.
    pub fn new() -> Self {
        Self {
            set: AtomicBool::new(false),
            waiter: ManuallyDrop::new(P::Waiter::current()),
        }
    }

    /// Whether the latch is set. If so, what its setter wrote is visible.
    pub fn probe(&self) -> bool {
        // Ordering: Acquire pairs with `set`.
        self.set.load(Ordering::Acquire)
    }

    /// Blocks until the latch is set. Only the thread that created the latch may wait.
    pub fn wait(&self) {
        while !self.probe() {
            // Liveness: the setter unparks this thread after it has set the flag, and the token
            // outlasts the time until we park.
            no_unwind(P::Waiter::park);
        }
    }
}

impl<P: Platform> Drop for BlockingLatch<P> {
    fn drop(&mut self) {
        // Ordering: Relaxed; the waiter has already received what the setter wrote.
        if !self.set.load(Ordering::Relaxed) {
            // SAFETY: no setter has moved the handle out, and none will.
            unsafe { ManuallyDrop::drop(&mut self.waiter) };
        }
    }
}

impl<P: Platform> Default for BlockingLatch<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> Latch for BlockingLatch<P> {
    type Platform = P;

    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive (obligation 1) until the flag is set. The handle is moved out
        // before, by this call alone (obligation 2), and the latch does not drop it.
        unsafe {
            let waiter = (&raw const (*this).waiter).cast::<P::Waiter>().read();
            // Ordering: Release pairs with `wait`.
            (*this).set.store(true, Ordering::Release);
            waiter.unpark();
        }
    }
}
