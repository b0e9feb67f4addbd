//! The jobs of scopes, in [memory that threads keep](super::job_memory).

use pool_core::{Job, JobHeader, JobRef, ScopeCore};

use super::job_memory;
use crate::job_context::Context;
use crate::platform::{Std, WorkerThread};

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
        unsafe { (*core).run_job(|| body(&*scope)) };
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

/// Creates a job of a scope as [`scope_job`] does, but does not add it to the scope.
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
    let context = Context::current();
    let body = move |scope: &S| context.run(|| body(scope));
    // SAFETY: 1. the block lives until the job is run, and all else by obligations 1 and 2; 2. the
    // body is `Send` and the scope is `Sync`.
    unsafe { JobRef::new(job_memory::put(ScopeJob::new(scope, body))) }
}
