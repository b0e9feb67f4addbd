//! Spawned jobs, in [memory that threads keep](super::job_memory).

use std::ptr::NonNull;

use pool_core::{Job, JobHeader, JobRef, ScopeCore};

use super::job_memory;
use crate::platform::{Registry, Std, WorkerThread};

/// A closure that borrows nothing, in memory that the execution frees.
#[repr(C)]
struct SpawnJob<F> {
    header: JobHeader,
    closure: F,
}

// SAFETY: 1. the header comes first; `new` makes it for this type.
unsafe impl<F: FnOnce() + Send + 'static> Job for SpawnJob<F> {
    unsafe fn execute(this: *const ()) {
        // SAFETY: 1. by obligations 1 and 2 this is the pointer of `counted_job`, and used once.
        let Self { closure, .. } = unsafe { job_memory::take_out(this.cast_mut().cast::<Self>()) };
        closure();
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

/// A pool, as a job knows it whose reference keeps the pool from ending.
struct PoolOfJob(*const Registry);

// SAFETY: the registry is `Sync`; `counted_job` says how long it lives.
unsafe impl Send for PoolOfJob {}

impl PoolOfJob {
    /// Returns the pool.
    ///
    /// # Safety
    /// 1. The calling thread is running the job.
    unsafe fn get(&self) -> &Registry {
        // SAFETY: by obligation 1 the thread is a worker of the pool, since only those run its
        // jobs. A worker outlives the job that it runs, and the registry outlives its
        // workers.
        unsafe { &*self.0 }
    }
}

/// Creates a job of a spawned closure. It removes a reference to the pool when it ends. A panic
/// goes to the pool's handler.
///
/// The job holds no `Arc` of the pool, which would be one more count that all threads write. Its
/// reference keeps the workers from ending before it is run, and they hold the registry in place.
///
/// # Safety
/// 1. The caller puts the job into a queue of this pool, and adds a reference for it before.
pub(crate) unsafe fn counted_job(
    registry: &Registry,
    closure: impl FnOnce() + Send + 'static,
) -> JobRef {
    let pool = PoolOfJob(registry);
    let job = SpawnJob::new(move || {
        // The whole value, not its field, moves into the job.
        let pool = pool;
        // SAFETY: 1. by obligation 1 of `counted_job`.
        let registry = unsafe { pool.get() };
        registry
            .data()
            .handlers
            .run_and_handle_panic("a spawned job", closure);
        registry.remove_reference();
    });
    // SAFETY: 1. the block lives until the job is run; 2. the closure is `Send`.
    unsafe { JobRef::new(job_memory::put(job)) }
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

/// A closure that borrows what outlives its scope, in memory that the execution frees.
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
        // SAFETY: 1. by obligations 1 and 2 this is the pointer of `uncounted_scope_job`, and used
        // once.
        let Self { scope, body, .. } =
            unsafe { job_memory::take_out(this.cast_mut().cast::<Self>()) };
        // SAFETY: the scope waits, and so lives, until `job_done`.
        let core: *const ScopeCore<'_, Std> = unsafe { &*scope }.core();
        // The body is consumed here. If it were still an argument of some function when the latch
        // is set, its borrows would last longer than what they borrow.
        //
        // SAFETY: as above.
        unsafe { (*core).catch(|| body(&*scope)) };
        // SAFETY: 1. its maker added it, and a job is run once; 2. only workers of the scope's pool
        // run it.
        unsafe { ScopeCore::job_done(core) };
    }
}

/// Creates a job of a scope, which waits for it from now on. `worker` is the worker that this
/// thread is, if it is known.
///
/// # Safety
/// 1. The caller puts the reference where it will be executed.
/// 2. What `body` borrows outlives the scope.
#[inline]
pub(crate) unsafe fn scope_job<S: AnyScope>(
    scope: &S,
    worker: Option<&WorkerThread>,
    body: impl FnOnce(&S) + Send,
) -> JobRef {
    scope.core().add_job(worker);
    // SAFETY: 1. and 2. are forwarded to our caller; 3. it was added just now.
    unsafe { uncounted_scope_job(scope, body) }
}

/// Creates a job of a scope as [`scope_job`] does, but adds it not to the scope.
///
/// # Safety
/// 1. The caller puts the reference where it will be executed.
/// 2. What `body` borrows outlives the scope.
/// 3. It is [added](ScopeCore::add_jobs) to the scope before it is put there.
#[inline]
pub(crate) unsafe fn uncounted_scope_job<S: AnyScope>(
    scope: &S,
    body: impl FnOnce(&S) + Send,
) -> JobRef {
    // SAFETY: 1. the block lives until the job is run, and all else by obligations 1 and 2; 2. the
    // body is `Send` and the scope is `Sync`.
    unsafe { JobRef::new(job_memory::put(ScopeJob::new(scope, body))) }
}

/// The node of a job in this platform's queues, which need none.
pub(crate) const NO_NODE: NonNull<()> = NonNull::dangling();

/// Queues a job on this thread's deque if the thread is a worker of the pool, and else on the
/// pool's injector.
///
/// # Safety
/// 1. As for [`JobRef::execute`].
#[inline]
pub(crate) unsafe fn post_or_inject(registry: &Registry, job: JobRef) {
    // SAFETY: obligation 1 is forwarded to our caller.
    unsafe { post_or_inject_on(current_worker_of(registry), registry, job) };
}

/// Queues a job as [`post_or_inject`] does; `worker` is the worker of the pool that this thread is,
/// if any.
///
/// # Safety
/// 1. As for [`JobRef::execute`].
#[inline]
pub(crate) unsafe fn post_or_inject_on(
    worker: Option<&WorkerThread>,
    registry: &Registry,
    job: JobRef,
) {
    match worker {
        // SAFETY: obligation 1 is forwarded to our caller.
        Some(worker) => unsafe { worker.post(job) },
        // SAFETY: 1. the queue needs no node.
        None => unsafe { registry.inject(NO_NODE, job) },
    }
}

/// Queues jobs as [`post_or_inject`] does, with one fence and one decision which workers to wake
/// for all.
///
/// # Safety
/// 1. As for [`JobRef::execute`], for each job.
pub(crate) unsafe fn post_or_inject_many(registry: &Registry, jobs: &[JobRef]) {
    match current_worker_of(registry) {
        // SAFETY: obligation 1 is forwarded to our caller.
        Some(worker) => unsafe { worker.post_many(jobs) },
        // SAFETY: 1. the queue needs no node.
        None => unsafe { registry.inject_many(jobs.iter().map(|&job| (NO_NODE, job))) },
    }
}

/// Returns the worker of this thread, if the thread is a worker of this pool.
///
/// The reference must not outlive the caller's stay on the worker.
pub(crate) fn current_worker_of<'a>(registry: &Registry) -> Option<&'a WorkerThread> {
    // SAFETY: callers use it at once, while the thread is still the worker.
    unsafe { WorkerThread::current() }.filter(|worker| std::ptr::eq(worker.registry(), registry))
}
