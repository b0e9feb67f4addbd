//! The global pool, and the current one.

use std::{
    cell::Cell,
    mem::MaybeUninit,
    sync::{Arc, Mutex, OnceLock},
};

use pool_core::ColdArg;

use crate::{
    api::CurrentPool,
    panics::lock,
    platform::{Registry, WorkerThread},
    thread_pool::{
        builder::{MAX_THREADS, ThreadPoolBuilder},
        error::BuildError,
        guard::PoolGuard,
        guests,
    },
    worker::lender,
};

/// Holds a reference until the process ends, so that the pool does not end before.
static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();

/// Held while the global pool is being built, so that there is only one.
static BUILDING: Mutex<()> = Mutex::new(());

thread_local! {
    /// This thread holds or awaits `BUILDING`, and would wait for itself.
    static BUILDING_HERE: Cell<bool> = const { Cell::new(false) };
}

struct ResetBuildingHere;

impl Drop for ResetBuildingHere {
    fn drop(&mut self) {
        BUILDING_HERE.set(false);
    }
}

/// Builds the global pool.
///
/// # Errors
/// If there is one, or if it cannot be built.
///
/// # Panics
/// If this thread is building the global pool already.
pub(super) fn initialize(
    build: impl FnOnce() -> Result<Arc<Registry>, BuildError>,
) -> Result<(), BuildError> {
    assert!(
        !BUILDING_HERE.replace(true),
        "a closure that helps to build the global pool cannot use it"
    );
    let _reset = ResetBuildingHere;
    let _building = lock(&BUILDING);
    if GLOBAL.get().is_some() {
        return Err(BuildError::GlobalPoolAlreadyInitialized);
    }
    let registry = build()?;
    GLOBAL.set(registry).expect("set only while building");
    Ok(())
}

/// Returns the global pool, and builds it with the defaults if there is none. On a system without
/// threads it is the calling thread alone.
///
/// # Panics
/// If it must be built and cannot be.
pub(super) fn global() -> &'static Arc<Registry> {
    if let Some(registry) = GLOBAL.get() {
        return registry;
    }
    let mut result = ThreadPoolBuilder::new().build_global();
    if result.as_ref().is_err_and(BuildError::is_unsupported) {
        // On a system without threads, jobs can run only on the thread that waits for them.
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        // A worker of another pool cannot be adopted; then the first error says more.
        result = alone.build_global().or(result);
    }
    match result {
        Ok(()) | Err(BuildError::GlobalPoolAlreadyInitialized) => {}
        Err(error) => panic!("the global thread pool could not be built: {error}"),
    }
    GLOBAL.get().expect("built above")
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
    with_outside_registry(|registry| in_pool_from_outside(registry, current, closure.take()))
}

/// Runs a closure in a pool, for a thread that is no worker.
fn in_pool_from_outside<R: Send>(
    registry: &Registry,
    current: CurrentPool,
    closure: impl FnOnce(&WorkerThread, bool) -> R + Send,
) -> R {
    if registry.data().guests.are_for(current) {
        guests::call(registry, closure)
    } else {
        registry.in_worker_cold(closure)
    }
}

/// Runs a closure as [`in_worker`] does, but not on a worker whose pool has ended, because the
/// closure may need other workers. The pool does not end during the call.
pub(crate) fn in_running_pool<R: Send>(
    current: CurrentPool,
    closure: impl FnOnce(&WorkerThread, &Arc<Registry>) -> R + Send,
) -> R {
    let pool = PoolGuard::current();
    let registry = pool.registry();
    // SAFETY: 1. the reference is only compared.
    if unsafe { WorkerThread::current() }.is_some() {
        registry.in_worker(|worker, _| closure(worker, registry))
    } else {
        in_pool_from_outside(registry, current, |worker, _| closure(worker, registry))
    }
}

/// Calls a closure with the current pool: the one that this thread is a worker of, or the global
/// one.
pub(crate) fn with_current_registry<R>(closure: impl FnOnce(&Registry) -> R) -> R {
    // SAFETY: 1. the thread stays the worker at least until the closure returns.
    match unsafe { WorkerThread::current() } {
        Some(worker) => closure(worker.registry()),
        None => with_outside_registry(|registry| closure(registry)),
    }
}

/// Calls a closure with the current pool of a thread that is not a worker: the one whose worker the
/// thread lends, or the global one.
pub(super) fn with_outside_registry<R>(closure: impl FnOnce(&Arc<Registry>) -> R) -> R {
    match lender::pool().filter(|registry| registry.has_references()) {
        Some(registry) => closure(&registry),
        None => closure(global()),
    }
}

/// Returns the number of workers in the current pool: the one that this thread is a worker of, or
/// the global one. [Parked](crate::ThreadPool::set_active_workers) workers count, so each worker's
/// number is below it.
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

/// Whether this thread's deque holds jobs that no worker has started. None if this thread is not a
/// worker.
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    // SAFETY: 1. the reference is used at once.
    unsafe { WorkerThread::current() }.map(WorkerThread::has_pending_jobs)
}

/// Returns the maximum number of workers of a pool.
pub const fn max_num_threads() -> usize {
    MAX_THREADS
}
