//! The current pool of a thread: its own, or the global one, and what keeps it from ending.

use std::{
    cell::Cell,
    marker::PhantomData,
    mem::MaybeUninit,
    ptr,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicPtr, Ordering},
    },
};

use pool_core::ColdArg;

use crate::{
    api::CurrentPool,
    fork::{self, Process},
    panics::lock,
    platform::{Registry, WorkerThread, pool_of},
    thread_pool::{
        builder::{MAX_THREADS, ThreadPoolBuilder},
        call::call_as_guest,
        error::BuildError,
    },
    worker::frames,
};

/// The global pool of a process. A child of the process has another one: a lock of this one may be
/// held by a thread that is not there.
struct Global {
    process: Process,
    /// Holds a reference until the process ends, so that the pool does not end before.
    pool: OnceLock<Arc<Registry>>,
    /// Held while the pool is being built, so that there is only one.
    building: Mutex<()>,
}

/// The one that was used last: that of this process, of a parent, or null. They are never freed.
static GLOBAL: AtomicPtr<Global> = AtomicPtr::new(ptr::null_mut());

impl Global {
    /// Returns that of this process.
    fn here() -> &'static Self {
        let process = Process::current();
        loop {
            // Ordering: Acquire pairs with the Release below: the fields are visible.
            let known = GLOBAL.load(Ordering::Acquire);
            // SAFETY: it is null, or comes from a box that is never freed.
            match unsafe { known.as_ref() } {
                Some(global) if global.process == process => return global,
                _ => Self::replace(known, process),
            }
        }
    }

    /// Puts a new one in the place of that of a parent, if no other thread has done so.
    #[cold]
    fn replace(known: *mut Self, process: Process) {
        fork::watch();
        let new = Box::into_raw(Box::new(Self {
            process,
            pool: OnceLock::new(),
            building: Mutex::new(()),
        }));
        // Ordering: Release pairs with the Acquire above. Relaxed on failure: nothing is read.
        let replaced = GLOBAL.compare_exchange(known, new, Ordering::Release, Ordering::Relaxed);
        if replaced.is_err() {
            // SAFETY: it comes from a box, and no other thread has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

thread_local! {
    /// This thread holds or awaits `Global::building`, and would wait for itself.
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
pub(super) fn initialize_global(
    build: impl FnOnce() -> Result<Arc<Registry>, BuildError>,
) -> Result<(), BuildError> {
    assert!(
        !BUILDING_HERE.replace(true),
        "a closure that helps to build the global pool cannot use it"
    );
    let _reset = ResetBuildingHere;
    let global = Global::here();
    let _building = lock(&global.building);
    if global.pool.get().is_some() {
        return Err(BuildError::GlobalPoolAlreadyInitialized);
    }
    let registry = build()?;
    global.pool.set(registry).expect("set only while building");
    Ok(())
}

/// Returns the global pool, and builds it with the defaults if there is none. On a system without
/// threads it is the calling thread alone.
///
/// # Panics
/// If it must be built and cannot be.
pub(super) fn global() -> &'static Arc<Registry> {
    let global = Global::here();
    if let Some(registry) = global.pool.get() {
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
    global.pool.get().expect("built above")
}

thread_local! {
    /// The number of frames of this thread that keep its own pool from ending.
    static KEEPING_OWN_POOL: Cell<usize> = const { Cell::new(0) };
}

/// Whether a frame of this thread keeps from ending the pool whose worker the thread is.
pub(crate) fn keeps_own_pool() -> bool {
    KEEPING_OWN_POOL.get() > 0
}

/// Calls a closure in a frame that counts as one that keeps this thread's own pool from ending. So
/// the closure cannot end the worker that the thread is. It does not unwind.
pub(crate) fn keeping_own_pool<R>(closure: impl FnOnce() -> R) -> R {
    KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() + 1);
    let result = closure();
    KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() - 1);
    result
}

/// Keeps a pool from ending while it is held.
pub(crate) struct PoolGuard {
    registry: Arc<Registry>,
    /// This thread was a worker of the pool, and counts the guard in `KEEPING_OWN_POOL`.
    is_own: bool,
    /// The guard is dropped on the thread that counts it.
    not_send: PhantomData<*const ()>,
}

impl PoolGuard {
    /// Guards the pool whose worker this thread is, or lends, or else the global pool. An adopted
    /// thread and an exit handler may be workers of a pool that has ended; they get the global
    /// pool, too.
    pub(crate) fn current() -> Self {
        match with_reference() {
            Current::Own(worker) => {
                KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() + 1);
                Self::counted(pool_of(worker), true)
            }
            Current::Lent(registry) => Self::counted(registry, false),
            Current::Global(registry) => Self::counted(registry.clone(), false),
        }
    }

    /// Guards this pool by a reference that the caller has added. `is_own` says that it is counted
    /// in `KEEPING_OWN_POOL`.
    fn counted(registry: Arc<Registry>, is_own: bool) -> Self {
        Self {
            registry,
            is_own,
            not_send: PhantomData,
        }
    }

    /// Returns the pool.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }
}

impl Drop for PoolGuard {
    fn drop(&mut self) {
        if self.is_own {
            KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() - 1);
        }
        self.registry.remove_reference();
    }
}

/// Adds a reference for a job to the pool that [`PoolGuard::current`] would guard, and calls a
/// closure with that pool. The registry lives until the call returns, also if the job ends before.
///
/// Cheaper than a guard: it writes one count, and not three.
pub(crate) fn with_job_reference<R>(closure: impl FnOnce(&Registry) -> R) -> R {
    match with_reference() {
        Current::Own(worker) => closure(worker.registry()),
        Current::Lent(registry) => closure(&registry),
        Current::Global(registry) => closure(registry),
    }
}

/// The current pool of a thread, in which the thread has added a reference.
enum Current<'a> {
    /// The thread is a worker of the pool.
    Own(&'a WorkerThread),
    /// The thread lends its worker of the pool.
    Lent(Arc<Registry>),
    Global(&'static Arc<Registry>),
}

/// Adds a reference to the current pool. The answer must not outlive the caller's stay on its
/// worker.
#[inline(always)]
fn with_reference<'a>() -> Current<'a> {
    // SAFETY: 1. callers use it at once, while the thread is still the worker.
    match unsafe { WorkerThread::current() } {
        Some(worker) if worker.registry().try_add_reference() => return Current::Own(worker),
        None => {
            let lent = frames::lent_pool();
            if let Some(registry) = lent.filter(|registry| registry.try_add_reference()) {
                return Current::Lent(registry);
            }
        }
        Some(_) => {}
    }
    let registry = global();
    registry.add_reference();
    Current::Global(registry)
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

/// Runs a closure in a pool, for a thread outside every pool.
fn in_pool_from_outside<R: Send>(
    registry: &Registry,
    current: CurrentPool,
    closure: impl FnOnce(&WorkerThread, bool) -> R + Send,
) -> R {
    if registry.data().guests.are_for(current) {
        call_as_guest(registry, closure)
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
    match frames::lent_pool().filter(|registry| registry.has_references()) {
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
