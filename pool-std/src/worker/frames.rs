//! The frames of a thread that use a pool while the thread is not its worker.
//!
//! While a thread lends its worker, it is not a worker of any pool, so what asks for the current
//! worker finds none. A thread outside a pool may run a closure for which the pool waits. A few
//! functions must know more: which pool the free functions use, and that this thread must neither
//! wait for the end of such a pool nor become a worker for good.

use std::{cell::Cell, marker::PhantomData, ptr, sync::Arc};

use pool_core::Platform as _;

use crate::{
    fork,
    platform::{Registry, Std, WorkerThread},
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

fn in_frame<R>(registry: *const Registry, lends: bool, closure: impl FnOnce() -> R) -> R {
    struct Reset<'f>(&'f Frame, PhantomData<*const ()>);

    impl Drop for Reset<'_> {
        fn drop(&mut self) {
            INNERMOST.set(self.0.outer);
        }
    }

    let frame = Frame {
        registry,
        lends,
        outer: INNERMOST.get(),
    };
    INNERMOST.set(&raw const frame);
    let _reset = Reset(&frame, PhantomData);
    closure()
}

/// Returns the frames, the innermost one first.
fn frames<'a>() -> impl Iterator<Item = &'a Frame> {
    // SAFETY: a frame is in the list while the call that made it runs. Callers use the iterator at
    // once, within that call.
    let next = |frame: *const Frame| unsafe { frame.as_ref() };
    std::iter::successors(next(INNERMOST.get()), move |frame| next(frame.outer))
}

/// Whether a frame of this thread uses this pool.
pub(crate) fn use_pool(registry: &Registry) -> bool {
    frames().any(|frame| ptr::eq(frame.registry, registry))
}

/// Whether this thread lends a worker.
pub(crate) fn is_lending() -> bool {
    frames().any(|frame| frame.lends)
}

/// Returns the pool whose worker this thread lends, the innermost if it lends several. None in a
/// child of the process that has begun this.
pub(crate) fn lent_pool() -> Option<Arc<Registry>> {
    let frame = frames().find(|frame| frame.lends)?;
    // SAFETY: 1. the worker keeps its registry alive, and its frame is further up; 2. the worker
    // was made with this pointer.
    let registry = unsafe { Std::keep_alive(frame.registry) };
    fork::is_here(&registry).then_some(registry)
}
