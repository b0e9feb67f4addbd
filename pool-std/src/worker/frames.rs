//! The frames of a thread that use a pool while the thread is not its worker.
//!
//! While a thread lends its worker, it is not a worker of any pool, so what asks for the current
//! worker finds none. A thread outside a pool may run a closure for which the pool waits. A few
//! functions must know more: which pool the free functions use, and that this thread must neither
//! wait for the end of such a pool nor become a worker for good.

use std::{cell::Cell, ptr, sync::Arc};

use pool_core::Platform as _;

use crate::{
    blocking::handlers::while_unregistered,
    fork::Process,
    platform::{Registry, Std, WorkerThread},
    worker::current_worker_of,
};

thread_local! {
    /// The innermost of these frames.
    static INNERMOST: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// A frame that uses a pool.
struct Frame {
    registry: *const Registry,
    /// Whether the thread lends its worker of the pool, rather than visits it.
    lends: bool,
    /// The process that made the frame. In a child of that process, the frame does not count.
    process: Process,
    outer: *const Frame,
}

/// Calls a closure in which this thread lends a worker.
pub(crate) fn while_lending<R>(worker: &WorkerThread, closure: impl FnOnce() -> R) -> R {
    in_frame(worker.registry_pointer(), true, closure)
}

/// Calls a closure for which a pool waits, which the caller keeps from ending.
pub(crate) fn while_visiting<R>(registry: &Registry, closure: impl FnOnce() -> R) -> R {
    in_frame(registry, false, closure)
}

/// Calls a closure of a pool's handler, for which this pool is the current one. This thread is a
/// worker of the pool, or has just ceased to be one, or does something else for the pool.
pub(crate) fn in_handler_of<R>(registry: &Arc<Registry>, closure: impl FnOnce() -> R) -> R {
    if current_worker_of(registry).is_some() {
        return closure();
    }
    // A thread that is not a worker of the pool is treated as if it lent one.
    while_unregistered(|| in_frame(Arc::as_ptr(registry), true, closure))
}

fn in_frame<R>(registry: *const Registry, lends: bool, closure: impl FnOnce() -> R) -> R {
    struct Reset<'f>(&'f Frame);

    impl Drop for Reset<'_> {
        fn drop(&mut self) {
            INNERMOST.set(self.0.outer);
        }
    }

    let frame = Frame {
        registry,
        lends,
        process: Process::current(),
        outer: INNERMOST.get(),
    };
    INNERMOST.set(&raw const frame);
    let _reset = Reset(&frame);
    closure()
}

/// Calls the closure with the frames of this process, the innermost one first, until it returns
/// `Some`. Returns that answer.
fn find<R>(closure: impl Fn(&Frame) -> Option<R>) -> Option<R> {
    let process = Process::current();
    let mut next = INNERMOST.get();
    // SAFETY: a frame is in the list while the call that made it runs, and this thread is within
    // that call until the closure has returned.
    while let Some(frame) = unsafe { next.as_ref() } {
        if frame.process == process
            && let Some(result) = closure(frame)
        {
            return Some(result);
        }
        next = frame.outer;
    }
    None
}

/// Whether a frame of this thread uses this pool.
pub(crate) fn use_pool(registry: &Registry) -> bool {
    find(|frame| ptr::eq(frame.registry, registry).then_some(())).is_some()
}

/// Whether this thread lends a worker.
pub(crate) fn is_lending() -> bool {
    find(|frame| frame.lends.then_some(())).is_some()
}

/// Returns the pool whose worker this thread lends, the innermost if it lends several.
pub(crate) fn lent_pool() -> Option<Arc<Registry>> {
    let registry = find(|frame| frame.lends.then_some(frame.registry))?;
    // SAFETY: 1. the worker, or the caller of a handler, keeps the registry alive, and its frame is
    // further up; 2. it is the `Arc`'s pointer, with which the worker was made, too.
    Some(unsafe { Std::keep_alive(registry) })
}
