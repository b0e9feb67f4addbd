//! Which pools this thread lends workers of.
//!
//! While a thread lends its worker, it is no worker of any pool, so what asks for the current
//! worker finds none. A few functions must know more: which pool the free functions use, and that
//! this thread must neither wait for the end of that pool nor become a worker for good.

use std::{cell::Cell, marker::PhantomData, ptr, sync::Arc};

use pool_core::Platform as _;

use crate::platform::{Registry, Std, WorkerThread};

thread_local! {
    /// The innermost worker that this thread lends.
    static LENDING: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// A worker that this thread lends, in the frame that does.
struct Frame {
    registry: *const Registry,
    /// The thread may run a worker of another pool in the closure, and lend that too.
    outer: *const Frame,
}

/// Calls a closure in which this thread lends a worker.
pub(crate) fn while_lending<R>(worker: &WorkerThread, closure: impl FnOnce() -> R) -> R {
    struct Reset<'f>(&'f Frame, PhantomData<*const ()>);

    impl Drop for Reset<'_> {
        fn drop(&mut self) {
            LENDING.set(self.0.outer);
        }
    }

    let frame = Frame {
        registry: worker.registry_pointer(),
        outer: LENDING.get(),
    };
    LENDING.set(&raw const frame);
    let _reset = Reset(&frame, PhantomData);
    closure()
}

/// Returns the frames of this thread, the innermost first.
fn frames<'a>() -> impl Iterator<Item = &'a Frame> {
    // SAFETY: a frame is in the list while the call that made it runs. Callers use the iterator at
    // once, within that call.
    let next = |frame: *const Frame| unsafe { frame.as_ref() };
    std::iter::successors(next(LENDING.get()), move |frame| next(frame.outer))
}

/// Whether this thread lends a worker.
pub(crate) fn is_lending() -> bool {
    frames().next().is_some()
}

/// Whether this thread lends a worker of this pool.
pub(crate) fn is_lending_of(registry: &Registry) -> bool {
    frames().any(|frame| ptr::eq(frame.registry, registry))
}

/// Returns the pool whose worker this thread lends, the innermost one.
pub(crate) fn pool() -> Option<Arc<Registry>> {
    let frame = frames().next()?;
    // SAFETY: 1. the worker keeps its registry alive, and its frame is further up; 2. the worker
    // was made with this pointer.
    Some(unsafe { Std::keep_alive(frame.registry) })
}
