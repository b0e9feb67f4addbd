//! The current pool of a thread: its own, or the global one, and what keeps it from ending.

use std::{mem::MaybeUninit, sync::Arc};

use pool_core::{Call, ColdArg};

use crate::{
    api::CurrentPool,
    job_context::run_call,
    platform::{Registry, Std, WorkerThread, pool_of},
    thread_pool::{
        builder::MAX_THREADS,
        call::{Visit, run_of_guest},
        global::{global, global_without_threads},
    },
    worker::{current_worker_of, frames},
};

mod guard;

pub(crate) use guard::{PoolGuard, forget_frames, keeping_own_pool, keeps_own_pool};

/// Adds a reference for a job to the pool that [`PoolGuard::current`] would guard, and calls a
/// closure with that pool. The registry lives until the call returns, also if the job ends before.
///
/// Cheaper than a guard: it writes one count, and not three.
pub(crate) fn with_job_reference<R>(closure: impl FnOnce(&Registry) -> R) -> R {
    add_reference_to_current(|current| match current {
        Current::Own(worker) => closure(worker.registry()),
        Current::Lent(registry) => closure(&registry),
        Current::Global(registry) => closure(registry),
    })
}

/// Adds a reference for a job to the pool that [`PoolGuard::current`] would guard, and returns that
/// pool, for a job that keeps it.
pub(crate) fn pool_with_job_reference() -> Arc<Registry> {
    add_reference_to_current(|current| match current {
        Current::Own(worker) => pool_of(worker),
        Current::Lent(registry) => registry,
        Current::Global(registry) => registry.clone(),
    })
}

/// The current pool of a thread, in which the thread has added a reference.
enum Current<'a> {
    /// The thread is a worker of the pool.
    Own(&'a WorkerThread),
    /// The thread lends its worker of the pool.
    Lent(Arc<Registry>),
    Global(&'static Arc<Registry>),
}

/// Adds a reference to the current pool, and calls a closure with that pool.
#[inline(always)]
fn add_reference_to_current<R>(closure: impl FnOnce(Current<'_>) -> R) -> R {
    // SAFETY: 1. the closure has the reference until it returns, and the worker's frames are below
    // this one.
    closure(unsafe { current_with_reference() })
}

/// Adds a reference to the current pool.
///
/// # Safety
/// 1. The answer is not used after this thread has ceased to be the worker.
#[inline(always)]
unsafe fn current_with_reference<'a>() -> Current<'a> {
    // SAFETY: 1. by obligation 1.
    match unsafe { WorkerThread::current() } {
        Some(worker) if worker.try_add_reference() => return Current::Own(worker),
        None => {
            let lent = frames::lent_pool();
            if let Some(registry) = lent.filter(|registry| registry.try_add_reference()) {
                return Current::Lent(registry);
            }
        }
        Some(_) => {}
    }
    loop {
        let registry = global();
        // Another thread may have taken the pool out and ended it. Then there is a new one.
        if registry.try_add_reference() {
            return Current::Global(registry);
        }
    }
}

/// Runs a closure on this thread if it is a worker, or else in the global pool: as a guest, or on a
/// worker.
#[inline(always)]
pub(crate) fn in_worker<R, F>(current: CurrentPool, closure: F) -> R
where
    R: Send,
    F: FnOnce(&WorkerThread, bool) -> R + Send,
{
    // SAFETY: 1. the thread stays the worker at least until the closure returns.
    match unsafe { WorkerThread::current() } {
        Some(worker) => closure(worker, false),
        None => in_global_pool(current, ColdArg::new(closure, &mut MaybeUninit::uninit())),
    }
}

/// Runs a closure on a worker of the global pool, or of the pool whose worker this thread lends.
#[cold]
#[inline(never)]
pub(crate) fn in_global_pool<R, F>(current: CurrentPool, closure: ColdArg<'_, F>) -> R
where
    R: Send,
    F: FnOnce(&WorkerThread, bool) -> R + Send,
{
    Call::enter(closure.take(), |call| run_in_global_pool(current, call))
}

fn run_in_global_pool(current: CurrentPool, mut call: Call<'_, Std>) {
    loop {
        let mut run = |pool: &Registry| run_from_outside(pool, current, call.reborrow());
        let was_run = match frames::lent_pool().filter(|pool| pool.has_references()) {
            Some(pool) => run(&pool),
            None => run(global()),
        };
        // Otherwise the pool has ended meanwhile, and is not the current one any more.
        if was_run {
            return;
        }
    }
}

/// Runs a call in a pool, for a thread outside every pool. Returns false, and does not run it, if
/// the pool has ended.
fn run_from_outside(registry: &Registry, current: CurrentPool, mut call: Call<'_, Std>) -> bool {
    let guests = registry.data().guests;
    let has_guests = guests.are_for(current);
    // A guest needs no reference: the worker whose place it has does not end before.
    let as_guest = |worker: &WorkerThread| run_of_guest(call.reborrow(), worker, false);
    if has_guests && guests.include_this_thread() && registry.try_call(as_guest).is_ok() {
        return true;
    }
    let Some(visit) = Visit::try_new(registry) else {
        return false;
    };
    let run = |call: Call<'_, Std>, worker: &WorkerThread, migrated| {
        let _visit = visit;
        if has_guests {
            run_of_guest(call, worker, migrated);
        } else {
            call.run(worker, migrated);
        }
    };
    call.within(run, |call| run_call(registry, call));
    true
}

/// Runs a closure as [`in_worker`] does, but not on a worker whose pool has ended, because the
/// closure may need other workers. The pool does not end during the call.
pub(crate) fn in_running_pool<R: Send>(
    current: CurrentPool,
    closure: impl FnOnce(&WorkerThread, &Registry) -> R + Send,
) -> R {
    let pool = PoolGuard::current();
    let registry = pool.registry();
    if let Some(worker) = current_worker_of(registry) {
        return closure(worker, registry);
    }
    let run = |worker: &WorkerThread, _| closure(worker, registry);
    Call::enter(run, |call| run_in_running_pool(registry, current, call))
}

fn run_in_running_pool(registry: &Registry, current: CurrentPool, call: Call<'_, Std>) {
    // SAFETY: 1. the reference is only compared.
    if unsafe { WorkerThread::current() }.is_some() {
        run_call(registry, call);
    } else {
        let was_run = run_from_outside(registry, current, call);
        assert!(was_run, "the guard keeps it from ending");
    }
}

/// Calls a closure that only inspects the current pool: the one whose worker this thread is or
/// lends, or else the global one, whose threads may not have been started.
pub(crate) fn with_current_registry<R>(look: impl FnOnce(&Registry) -> R) -> R {
    // SAFETY: 1. the thread stays the worker at least until the closure returns.
    match unsafe { WorkerThread::current() } {
        Some(worker) => look(worker.registry()),
        None => with_outside_pool(|registry| look(registry)),
    }
}

/// Returns the current pool: the one whose worker this thread is or lends, or else the global one,
/// whose threads may not have been started. The pool may end at any time.
pub(crate) fn current_registry() -> Arc<Registry> {
    // SAFETY: 1. the reference is used at once.
    match unsafe { WorkerThread::current() } {
        Some(worker) => pool_of(worker),
        None => with_outside_pool(Arc::clone),
    }
}

/// Calls a closure that runs no job with the current pool of a thread that is not a worker: the
/// pool whose worker the thread lends, or else the global one. The lent pool may have ended
/// already, while its worker calls its last handlers.
fn with_outside_pool<R>(look: impl FnOnce(&Arc<Registry>) -> R) -> R {
    match frames::lent_pool() {
        Some(registry) => look(&registry),
        None => look(global_without_threads()),
    }
}

/// Returns the number of workers in the current pool: the one whose worker this thread is, or
/// [lends](crate::block_in_place()), or else the global pool.
/// [Parked](crate::ThreadPool::set_active_workers) workers count, so each worker's number is below
/// it.
///
/// # Examples
/// ```
/// let parts = 4 * pool_std::current_num_threads();
/// println!("{parts} parts keep all workers busy");
/// ```
pub fn current_num_threads() -> usize {
    with_current_registry(Registry::num_workers)
}

/// Returns the number of this thread in its pool, or None if it is not a worker.
///
/// # Examples
/// ```
/// assert_eq!(pool_std::current_thread_index(), None);
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let indices = pool.broadcast(|_| pool_std::current_thread_index());
/// assert_eq!(indices, [Some(0), Some(1)]);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn current_thread_index() -> Option<usize> {
    // SAFETY: 1. the reference is used at once.
    unsafe { WorkerThread::current() }.map(|worker| worker.index().get())
}

/// Whether this thread's deque holds jobs that no worker has started. Returns None if this thread
/// is not a worker.
///
/// # Examples
/// ```
/// // Outside every pool, no thread has jobs of its own.
/// assert_eq!(pool_std::current_thread_has_pending_tasks(), None);
/// ```
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    // SAFETY: 1. the reference is used at once.
    unsafe { WorkerThread::current() }.map(WorkerThread::has_pending_jobs)
}

/// Returns the maximum number of workers of a pool.
///
/// # Examples
/// ```
/// use pool_std::{BuildError, ThreadPoolBuilder};
///
/// let too_many = pool_std::max_num_threads() + 1;
/// let error = ThreadPoolBuilder::new().num_threads(too_many).build().unwrap_err();
/// assert!(matches!(error, BuildError::TooManyThreads { .. }));
/// ```
pub const fn max_num_threads() -> usize {
    MAX_THREADS
}
