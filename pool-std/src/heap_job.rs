//! Jobs on the heap, for what is spawned.

use std::{ptr::NonNull, sync::Arc};

use pool_core::{Job, JobRef};

use crate::platform::{Registry, WorkerThread};

/// A closure in a box, freed when it is run.
pub(crate) struct HeapJob<F> {
    closure: F,
}

impl<F: FnOnce() + Send> HeapJob<F> {
    /// A job that runs the closure, which must not unwind.
    ///
    /// # Safety
    /// 1. The job is run before anything that the closure borrows ends.
    pub(crate) unsafe fn job_ref(closure: F) -> JobRef {
        // SAFETY: 1. the box lives until the job is run; 2. the closure is `Send`.
        unsafe { JobRef::new(Box::into_raw(Box::new(Self { closure }))) }
    }
}

impl<F: FnOnce() + Send> Job for HeapJob<F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 this is the box of `job_ref`, and used once.
        let this = unsafe { Box::from_raw(this.cast_mut().cast::<Self>()) };
        (this.closure)();
    }
}

/// The node that a job needs in this platform's queues: none.
pub(crate) const NO_NODE: NonNull<()> = NonNull::dangling();

/// Gives a pool a job: on the own deque if this thread is one of its workers, else from outside.
///
/// # Safety
/// 1. As for [`JobRef::execute`].
pub(crate) unsafe fn push_or_inject(registry: &Registry, job: JobRef) {
    match current_worker_of(registry) {
        // SAFETY: 1. is handed on.
        Some(worker) => unsafe { worker.push_or_execute(job) },
        // SAFETY: 1. the queue needs no node.
        None => unsafe { registry.inject(NO_NODE, job) },
    }
}

/// The worker of this pool that the thread is, if it is one.
///
/// The reference must not outlive the caller's stay on the worker.
pub(crate) fn current_worker_of<'a>(registry: &Registry) -> Option<&'a WorkerThread> {
    // SAFETY: callers use it at once, while the thread is still the worker.
    unsafe { WorkerThread::current() }.filter(|worker| std::ptr::eq(worker.registry(), registry))
}

/// Spawns a closure on a pool, which stays alive until it has been run. Its panic goes to the
/// pool's handler.
pub(crate) fn counted_job(
    registry: &Arc<Registry>,
    closure: impl FnOnce() + Send + 'static,
) -> JobRef {
    registry.add_reference();
    let registry = registry.clone();
    // SAFETY: 1. the closure borrows nothing.
    unsafe {
        HeapJob::job_ref(move || {
            registry.data().run_and_handle_panic(closure);
            registry.remove_reference();
        })
    }
}
