//! Reading what the operations of a pool free.

use core::{fmt, ptr};

use progress_core::{Delay, Guard};

use crate::{platform::Platform, registry::Registry, worker::WorkerThread};

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
    _delay: Delay<'r, P::Progress>,
    /// Dropped after the delay, whose end may make operations due.
    _announcing: Announcing<'r, P>,
}

// SAFETY: 1. progress is delayed until the drop.
unsafe impl<P: Platform> Guard for ReadGuard<'_, P> {}

impl<P: Platform> fmt::Debug for ReadGuard<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadGuard").finish_non_exhaustive()
    }
}

/// Announces operations when it is dropped, see [`Registry::announce_operations`].
struct Announcing<'r, P: Platform>(&'r Registry<P>);

impl<P: Platform> Drop for Announcing<'_, P> {
    #[inline]
    fn drop(&mut self) {
        self.0.announce_operations();
    }
}

impl<P: Platform> Registry<P> {
    /// Delays the operations that are scheduled from now on, until the guard is dropped, so that
    /// this thread may read what they free. Any thread may call this, including a worker in a job.
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, P> {
        ReadGuard {
            _delay: self.progress().delay(),
            _announcing: Announcing(self),
        }
    }

    /// Calls a closure that may read what operations free, as under the guard of
    /// [`read`](Self::read). On a worker of the pool, this takes two stores to the worker's own
    /// cache line, and no exchange.
    ///
    /// On a worker, the closure also delays the operations that this worker has scheduled before.
    #[inline]
    pub fn while_reading<R>(&self, read: impl FnOnce() -> R) -> R {
        // SAFETY: 1. a worker does not leave before its frames have ended, and no frame that a job
        // has called sleeps in the worker's loop.
        let worker = unsafe { WorkerThread::current() };
        let read = match worker.filter(|worker| ptr::eq(worker.registry(), self)) {
            Some(worker) => {
                // Dropped after the closure, whose end may make operations due.
                let _announcing = Announcing(self);
                match worker.managed.while_active(read) {
                    Ok(result) => return result,
                    Err(read) => read,
                }
            }
            None => read,
        };
        self.while_guarded(read)
    }

    /// Calls a closure under a guard. Not inlined, so that a worker's way stays short.
    #[inline(never)]
    fn while_guarded<R>(&self, read: impl FnOnce() -> R) -> R {
        let _guard = self.read();
        read()
    }

    /// Whether this thread is a worker of the pool, and is in a closure of
    /// [`while_reading`](Self::while_reading). Then it must not wait for a moment of the pool's
    /// progress, which does not come before the closure ends.
    pub fn is_reading(&self) -> bool {
        // SAFETY: 1. the reference is used in this call.
        let worker = unsafe { WorkerThread::current() };
        worker.is_some_and(|worker| ptr::eq(worker.registry(), self) && worker.managed.is_in_use())
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
        self.announce_jobs(1);
    }
}
