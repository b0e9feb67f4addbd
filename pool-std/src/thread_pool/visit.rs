//! Calls from outside a pool, which keep it from being idle.

use std::{cell::Cell, marker::PhantomData, ptr, sync::Arc};

use super::ThreadPool;
use crate::{platform::Registry, worker::job::current_worker_of};

thread_local! {
    /// The innermost call of this thread in which a closure of the user runs while the pool waits
    /// for the call.
    static VISITING: Cell<*const Frame> = const { Cell::new(ptr::null()) };
}

/// A call of this thread on a pool, in the frame that makes it.
struct Frame {
    registry: *const Registry,
    outer: *const Frame,
}

/// A reference to a pool, of a call from outside.
pub(super) struct Visit<'p>(&'p Registry);

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.remove_reference();
    }
}

/// Ends a call on a pool that has ended.
#[cold]
fn has_ended() -> ! {
    panic!("the thread pool has been shut down")
}

impl ThreadPool {
    /// Adds a reference.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn add_reference(&self) {
        // Another thread may have shut the pool down.
        if !self.registry.try_add_reference() {
            has_ended();
        }
    }

    /// Adds a reference until the value is dropped.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn hold(&self) -> Visit<'_> {
        self.add_reference();
        Visit(&self.registry)
    }

    /// Adds a reference for a call, unless a worker of the pool makes it: then it is a part of a
    /// job, or of what an adopted thread does by itself.
    ///
    /// The closure that the call runs takes the reference, and drops it on the worker that has run
    /// the closure. The caller might run another job meanwhile, which waits until the pool is idle.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn visit(&self) -> Option<Visit<'_>> {
        current_worker_of(&self.registry)
            .is_none()
            .then(|| self.hold())
    }

    /// Adds a reference for each worker. Returns the function that gives a job on a worker the one
    /// for it.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn visit_each<'p>(&'p self) -> impl Fn() -> Visit<'p> {
        self.add_reference();
        self.registry
            .add_references(self.registry.num_workers() - 1);
        || Visit(&self.registry)
    }

    /// Runs a closure on this thread that uses the pool. It holds a reference, so this thread must
    /// not wait until the pool is idle, or has ended.
    ///
    /// # Panics
    /// If the pool has been shut down.
    pub(super) fn while_visiting<R>(&self, closure: impl FnOnce(&Arc<Registry>) -> R) -> R {
        struct Reset<'f>(&'f Frame, PhantomData<*const ()>);

        impl Drop for Reset<'_> {
            fn drop(&mut self) {
                VISITING.set(self.0.outer);
            }
        }

        let _visit = self.hold();
        let frame = Frame {
            registry: Arc::as_ptr(&self.registry),
            outer: VISITING.get(),
        };
        VISITING.set(&raw const frame);
        let _reset = Reset(&frame, PhantomData);
        closure(&self.registry)
    }
}

/// Whether a frame of this thread [visits](ThreadPool::while_visiting) a pool.
pub(super) fn is_visiting(registry: &Registry) -> bool {
    // SAFETY: a frame is in the list while the call that made it runs. The iterator is used within
    // that call.
    let next = |frame: *const Frame| unsafe { frame.as_ref() };
    std::iter::successors(next(VISITING.get()), |frame| next(frame.outer))
        .any(|frame| ptr::eq(frame.registry, registry))
}
