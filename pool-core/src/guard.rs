//! Reading what the operations of a pool free.

use core::fmt;

use progress_core::{Delay, Guard};

use crate::{platform::Platform, registry::Registry};

/// Protects values that are freed by operations scheduled while it lives. Created by
/// [`Registry::read`].
///
/// # Examples
/// ```
/// use pool_core::{Platform, Registry};
///
/// /// Reads a structure whose parts are freed by operations of the pool.
/// fn read<P: Platform, R>(registry: &Registry<P>, read: impl FnOnce() -> R) -> R {
///     let _guard = registry.read();
///     read()
/// }
/// ```
pub struct ReadGuard<'r, P: Platform> {
    registry: &'r Registry<P>,
    /// None while it is dropped.
    delay: Option<Delay<'r, P::Progress>>,
}

// SAFETY: 1. progress is delayed until `drop`.
unsafe impl<P: Platform> Guard for ReadGuard<'_, P> {}

impl<P: Platform> Drop for ReadGuard<'_, P> {
    #[inline]
    fn drop(&mut self) {
        self.delay = None;
        self.registry.announce_operations();
    }
}

impl<P: Platform> fmt::Debug for ReadGuard<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGuard").finish_non_exhaustive()
    }
}

impl<P: Platform> Registry<P> {
    /// Delays the operations that are scheduled from now on, until the guard is dropped, so that
    /// this thread may read what they free. Any thread may call this, including a worker in a job.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, P> {
        ReadGuard {
            registry: self,
            delay: Some(self.progress().delay()),
        }
    }

    /// Wakes a worker if operations are due. A thread that is not a worker calls this after each
    /// use of the pool's [progress](Self::progress) that may advance it: the drop of a delay,
    /// `has_reached`, `wait_for`, `wakeup` and `schedule`.
    #[inline]
    pub fn announce_operations(&self) {
        if self.progress().has_due() {
            self.announce_due_operations();
        }
    }

    #[cold]
    fn announce_due_operations(&self) {
        // Like a job from outside: a worker that is about to sleep sees them, or is woken.
        self.announce_jobs(1, false);
    }
}
