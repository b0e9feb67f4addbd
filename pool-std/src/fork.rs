//! Children of `fork()`: processes that have a copy of a pool but none of its threads.
//!
//! Only the thread that forks exists in the child. A pool of the parent would wait there for
//! threads that do not exist, so each pool records the [`Process`] in which it was built. In a
//! child,
//! - the global pool is a new one, which is built on first use;
//! - a call into a pool of the parent panics, and waiting for the end of such a pool is an error;
//! - the thread that forked is no longer a worker, if it was one. So the free functions use the
//!   global pool of the child;
//! - frames that are still on the stack of this thread continue. If one of them must wait for a
//!   thread of the parent, or would run what other threads of the parent have queued, the process
//!   is [aborted](abort_if_forked).
//!
//! The threads of a pool of the parent keep references to it, and in a child those are never
//! dropped. So a child frees such a pool only if the threads had ended before the fork.
//!
//! # Why a handler, and not the process number
//!
//! A call into a pool takes a hundred nanoseconds, and so does `getpid`. A handler of
//! `pthread_atfork` costs nothing until a process forks: it increments a counter in the child, and
//! a call compares two numbers. A child of the raw system call, which bypasses the C library, has
//! run no handler and does not know that it is a child. Neither does its allocator.
//!
//! When the handler runs, a thread that is not in the child may hold any lock. So the handler takes
//! no lock: it increments the counter and clears thread-local variables.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{panics::abort_with, platform::Registry};

mod per_process;

pub(crate) use per_process::{Here, PerProcess};

/// The number of forks that led to this process since the first pool was built in it or in one of
/// its ancestors. A fork may count twice.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which a value was created.
///
/// On systems where [pools](crate::ThreadPool) notice forks, a `Process` that was obtained before a
/// `fork` differs from the [current](Self::current) one in the child.
///
/// A [driver](crate::driver) stores one with each operation that only a thread of the parent
/// completes, so that a child does not wait for the operation. Obtaining one costs a load.
///
/// # Examples
/// ```
/// use pool_std::driver::Process;
///
/// struct Request {
///     started_in: Process,
/// }
///
/// impl Request {
///     /// Whether this process has the thread that answers the request.
///     fn can_be_answered(&self) -> bool {
///         self.started_in == Process::current()
///     }
/// }
///
/// let request = Request { started_in: Process::current() };
/// assert!(request.can_be_answered());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// Returns the process of the caller. The result is exact once a pool was built in this process
    /// or in one of its ancestors.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        // Ordering: Relaxed. The counter changes in a child, before the child has a second thread.
        Self(FORKS.load(Ordering::Relaxed))
    }

    /// Aborts the process with an explanation, unless it is this one: for a thread that is about to
    /// wait for a thread of the process in which this value was obtained. In a child, it would wait
    /// forever.
    ///
    /// # Examples
    /// ```
    /// use pool_std::driver::Process;
    ///
    /// let process = Process::current();
    /// // ... code of the user, which may fork ...
    /// process.abort_if_forked();
    /// // ... a wait for a thread that was started above ...
    /// ```
    #[inline]
    pub fn abort_if_forked(self) {
        if self != Self::current() {
            abort();
        }
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::current()
    }
}

/// Whether a pool was built in this process, so that its threads may exist here.
#[inline]
pub(crate) fn is_own_process(registry: &Registry) -> bool {
    registry.data().process == Process::current()
}

/// Panics if the pool was built before this process was forked.
///
/// # Panics
/// In a child.
#[inline]
pub(crate) fn check(registry: &Registry) {
    if !is_own_process(registry) {
        panic_forked();
    }
}

#[cold]
fn panic_forked() -> ! {
    panic!("the thread pool was built by the parent of this process; its threads do not exist here")
}

/// Aborts the process if the pool was built before the process was forked. For a thread that is
/// about to wait for a thread of the pool: it would wait forever, in a frame that cannot be left.
#[inline]
pub(crate) fn abort_if_forked(registry: &Registry) {
    registry.data().process.abort_if_forked();
}

/// Calls a closure of the user in a frame that, after the closure, waits for a thread of the pool
/// if `waits` then returns true. If the closure has forked the process and ends in the child, and
/// the frame would wait there, the child is aborted.
pub(crate) fn abort_if_forked_in<R>(
    registry: &Registry,
    waits: &dyn Fn() -> bool,
    closure: impl FnOnce() -> R,
) -> R {
    struct AtEnd<'r>(&'r Registry, &'r dyn Fn() -> bool);

    impl Drop for AtEnd<'_> {
        fn drop(&mut self) {
            if !is_own_process(self.0) && (self.1)() {
                abort();
            }
        }
    }

    let _at_end = AtEnd(registry, waits);
    closure()
}

#[cold]
fn abort() -> ! {
    abort_with(
        "pool-std: what was begun before this process was forked waits for a thread of the parent; \
         aborting",
    );
}

/// Registers the handler, so that children that are forked from now on know that they are children.
pub(crate) fn watch() {
    handler::register();
}

mod handler {
    use std::{
        ptr,
        sync::atomic::{AtomicBool, Ordering},
    };

    use pool_core::Platform as _;

    use super::FORKS;
    use crate::{platform::Std, system, thread_pool::current::forget_frames};

    static IS_REGISTERED: AtomicBool = AtomicBool::new(false);

    /// Registers the handler. Two threads may both do so; then a fork counts twice, which does no
    /// harm.
    pub(super) fn register() {
        // Ordering: Acquire pairs with the Release below: a thread that sees it forks after the
        // handler is on the list.
        if !IS_REGISTERED.load(Ordering::Acquire) {
            // The call fails only if memory is exhausted. Then a child may hang, as it would
            // without this.
            let is_registered = system::call_in_children(in_child);
            // Ordering: Release, as said.
            IS_REGISTERED.store(is_registered, Ordering::Release);
        }
    }

    /// Runs in a child. It does only what is safe there: it takes no lock and allocates nothing.
    unsafe extern "C" fn in_child() {
        // Ordering: Relaxed, see `Process::current`.
        FORKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: 1. the pointer is null.
        unsafe { Std::set_current(ptr::null()) };
        forget_frames();
    }
}
