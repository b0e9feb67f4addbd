//! Spawned jobs, which are on the heap.

use std::{ptr::NonNull, sync::Arc};

use pool_core::{Job, JobHeader, JobRef, ScopeCore};

use crate::platform::{Registry, Std, WorkerThread};

/// A closure that borrows nothing, in a box that the execution frees.
#[repr(C)]
struct SpawnJob<F> {
    header: JobHeader,
    closure: F,
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<F: FnOnce() + Send + 'static> Job for SpawnJob<F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 this is the box of `counted_job`, and used once.
        let this = unsafe { Box::from_raw(this.cast_mut().cast::<Self>()) };
        (this.closure)();
    }
}

impl<F: FnOnce() + Send + 'static> SpawnJob<F> {
    fn new(closure: F) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            closure,
        }
    }
}

/// Creates a job of a spawned closure. The caller has taken a reference to the pool, which the job gives
/// back. A panic goes to the pool's handler.
pub(crate) fn counted_job(
    registry: Arc<Registry>,
    closure: impl FnOnce() + Send + 'static,
) -> JobRef {
    let job = SpawnJob::new(move || {
        registry.data().run_and_handle_panic(closure);
        registry.remove_reference();
    });
    // SAFETY: 1. the box lives until the job is run; 2. the closure is `Send`.
    unsafe { JobRef::new(Box::into_raw(Box::new(job))) }
}

/// A scope, which waits for its jobs.
pub(crate) trait AnyScope: Sync {
    /// Returns the part that counts the jobs.
    fn core(&self) -> &ScopeCore<'_, Std>;
}

impl AnyScope for ScopeCore<'_, Std> {
    fn core(&self) -> &ScopeCore<'_, Std> {
        self
    }
}

/// A closure that borrows what outlives its scope, in a box that the execution frees.
#[repr(C)]
struct ScopeJob<S, F> {
    header: JobHeader,
    scope: *const S,
    body: F,
}

impl<S: AnyScope, F: FnOnce(&S) + Send> ScopeJob<S, F> {
    fn new(scope: &S, body: F) -> Self {
        Self {
            header: JobHeader::new::<Self>(),
            scope,
            body,
        }
    }
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<S: AnyScope, F: FnOnce(&S) + Send> Job for ScopeJob<S, F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: by obligations 1 and 2 this is the box of `scope_job`, and used once.
        let Self { scope, body, .. } = *unsafe { Box::from_raw(this.cast_mut().cast::<Self>()) };
        // SAFETY: the scope waits, and so lives, until `job_done`.
        let core: *const ScopeCore<'_, Std> = unsafe { &*scope }.core();
        // The body is consumed here. If it were still an argument of some function when the latch is
        // set, its borrows would last longer than what they borrow.
        //
        // SAFETY: as above.
        unsafe { (*core).catch(|| body(&*scope)) };
        // SAFETY: 1. `scope_job` added it, and a job is run once; 2. only workers of the scope's pool
        // run it.
        unsafe { ScopeCore::job_done(core) };
    }
}

/// Creates a job of a scope, which waits for it from now on.
///
/// # Safety
/// 1. The caller puts the reference where it will be executed.
/// 2. What `body` borrows outlives the scope.
pub(crate) unsafe fn scope_job<S: AnyScope>(scope: &S, body: impl FnOnce(&S) + Send) -> JobRef {
    scope.core().add_job();
    // SAFETY: 1. the box lives until the job is run, and all else by obligations 1 and 2; 2. the
    // body is `Send` and the scope is `Sync`.
    unsafe { JobRef::new(Box::into_raw(Box::new(ScopeJob::new(scope, body)))) }
}

/// The node of a job in this platform's queues, which need none.
pub(crate) const NO_NODE: NonNull<()> = NonNull::dangling();

/// Queues a job on this thread's deque if the thread is a worker of the pool, and else on the pool's
/// injector.
///
/// # Safety
/// 1. As for [`JobRef::execute`].
pub(crate) unsafe fn post_or_inject(registry: &Registry, job: JobRef) {
    match current_worker_of(registry) {
        // SAFETY: obligation 1 is forwarded to our caller.
        Some(worker) => unsafe { worker.post(job) },
        // SAFETY: 1. the queue needs no node.
        None => unsafe { registry.inject(NO_NODE, job) },
    }
}

/// Returns the worker of this thread, if the thread is a worker of this pool.
///
/// The reference must not outlive the caller's stay on the worker.
pub(crate) fn current_worker_of<'a>(registry: &Registry) -> Option<&'a WorkerThread> {
    // SAFETY: callers use it at once, while the thread is still the worker.
    unsafe { WorkerThread::current() }.filter(|worker| std::ptr::eq(worker.registry(), registry))
}
