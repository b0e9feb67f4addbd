//! Children of `fork()`: processes that have a copy of a pool, and none of its threads.
//!
//! Only the thread that forks is in the child. A pool there waits for threads that do not exist. So
//! each pool knows the [`Process`] in which it was built. In a child,
//! - the global pool is another one, which the first use builds;
//! - a call into a pool of the parent panics, and a wait for its end is an error;
//! - the thread that has forked is no worker any more, if it was one. So the free functions use the
//!   global pool of the child;
//! - frames that the thread has left go on. If one of them must wait for a thread of the parent,
//!   the process is [ended](abort_if_forked).
//!
//! Nothing of a pool of the parent is freed in a child as long as its threads have references,
//! which stay. A pool whose threads had ended before the fork may be freed.
//!
//! # Why a handler, and not the process number
//!
//! A call into a pool takes a hundred nanoseconds, and so does `getpid`. A handler of
//! `pthread_atfork` costs nothing until a process forks: it counts in the child, and a call
//! compares two numbers. A child of the system call alone, past the C library, has run no handler
//! and does not know that it is one. Neither does its allocator.
//!
//! The handler may run while any lock is held by a thread that is not in the child. It takes none:
//! it counts, and clears thread-local variables.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::{clock, panics::abort_with, platform::Registry};

mod per_process;

pub(crate) use per_process::{Here, PerProcess};

/// How many times the process and its ancestors were forked, since the first of them has built a
/// pool.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The process in which something was made. A value that was made before a `fork` differs from the
/// [current](Self::current) one in the child, on systems where [pools](crate::ThreadPool) notice
/// forks.
///
/// A [driver](crate::driver) keeps one with what only a thread of the parent completes, so that a
/// child does not wait for it. It costs a load.
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
    /// Returns the process of the caller. Exact once a pool was built in it, or in a process that
    /// it descends from.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        // Ordering: Relaxed. It changes in a child before that has a second thread.
        Self(FORKS.load(Ordering::Relaxed))
    }
}

impl Default for Process {
    fn default() -> Self {
        Self::current()
    }
}

/// Whether a pool was built in this process, so that its threads may be here.
#[inline]
pub(crate) fn is_here(registry: &Registry) -> bool {
    registry.data().process == Process::current()
}

/// Ends a call into a pool that was built before this process was forked.
///
/// # Panics
/// In a child.
#[inline]
pub(crate) fn check(registry: &Registry) {
    if !is_here(registry) {
        has_forked();
    }
}

#[cold]
fn has_forked() -> ! {
    panic!("the thread pool belongs to the parent of this process, and none of its threads is here")
}

/// Ends the process if this thread is about to wait for a thread of a pool that was built before
/// the process was forked. It would wait for good, in a frame that cannot be left.
#[inline]
pub(crate) fn abort_if_forked(registry: &Registry) {
    if !is_here(registry) {
        abort();
    }
}

/// Calls a closure of the user that a pool waits for, in a frame that waits for a thread of the
/// pool when the closure has ended, if `waits` says so then. Ends the process if the closure has
/// forked it and returns in the child.
pub(crate) fn abort_if_forked_in<R>(
    registry: &Registry,
    waits: &dyn Fn() -> bool,
    closure: impl FnOnce() -> R,
) -> R {
    struct AtEnd<'r>(&'r Registry, &'r dyn Fn() -> bool);

    impl Drop for AtEnd<'_> {
        fn drop(&mut self) {
            if !is_here(self.0) && (self.1)() {
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

/// Lets a child of this process know that it is one, from now on.
pub(crate) fn watch() {
    // In a child, the first call could find that a thread of the parent is in the middle of it.
    _ = clock::now();
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

    /// Registers the handler. Two threads may both do so; then a fork counts twice, which is as
    /// good.
    pub(super) fn register() {
        // Ordering: Acquire pairs with the Release below: a thread that sees it forks after the
        // handler is on the list.
        if !IS_REGISTERED.load(Ordering::Acquire) {
            // Otherwise there is no memory, and a child may hang, as it does without this.
            let is_registered = system::call_in_children(in_child);
            // Ordering: Release, as said.
            IS_REGISTERED.store(is_registered, Ordering::Release);
        }
    }

    /// Runs in a child. It calls nothing that is not safe there: it takes no lock and allocates
    /// nothing.
    unsafe extern "C" fn in_child() {
        // Ordering: Relaxed, see `Process::current`.
        FORKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: 1. the pointer is null.
        unsafe { Std::set_current(ptr::null()) };
        forget_frames();
    }
}
