//! Where no panic may leave a frame.

#[cfg(all(test, unix, not(any(loom, miri))))]
mod tests;

/// Calls a closure from a frame that holds what other threads use: a queued job, or a latch that is
/// going to be set. Such a frame must not be left by a panic, and what the closure calls promises
/// not to panic: sleep protocols, parkers, waiters and hooks of a platform. If one panics all the
/// same, the process ends.
#[inline(always)]
pub(crate) fn no_unwind<R>(closure: impl FnOnce() -> R) -> R {
    let guard = AbortOnUnwind;
    let result = closure();
    core::mem::forget(guard);
    result
}

struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        // A panic while a panic unwinds aborts. This crate knows no other way.
        panic!("a sleep protocol, a parker, a waiter or a hook of a pool's platform panicked");
    }
}
