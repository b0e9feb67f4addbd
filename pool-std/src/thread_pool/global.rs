//! The global pool, and the current one.

use std::{
    cell::Cell,
    marker::PhantomData,
    mem::MaybeUninit,
    sync::{Arc, Mutex, OnceLock},
};

use pool_core::{Aside, Platform};

use crate::{
    platform::{Registry, Std, WorkerThread},
    thread_pool::{
        builder::{MAX_THREADS, ThreadPoolBuilder},
        data::lock,
        error::BuildError,
    },
    worker::thread::ThreadSpawn,
};

/// Holds a reference for ever, so the pool never ends.
static GLOBAL: OnceLock<Arc<Registry>> = OnceLock::new();

/// Held while the global pool is being built, so that only one is.
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

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the pool that is used by threads which belong to no pool. It lives until the
    /// process ends.
    ///
    /// # Errors
    /// [`BuildError`]; [`GlobalPoolAlreadyInitialized`](BuildError::GlobalPoolAlreadyInitialized)
    /// if this was called before, or if the pool has been built with the defaults because
    /// somebody needed it.
    ///
    /// # Panics
    /// If a closure given to this builder, called on this thread, uses the global pool.
    pub fn build_global(self) -> Result<(), BuildError> {
        assert!(
            !BUILDING_HERE.replace(true),
            "a closure that helps to build the global pool cannot use it"
        );
        let _reset = ResetBuildingHere;
        let _building = lock(&BUILDING);
        if GLOBAL.get().is_some() {
            return Err(BuildError::GlobalPoolAlreadyInitialized);
        }
        let registry = self.start()?;
        GLOBAL.set(registry).expect("set only while building");
        Ok(())
    }
}

/// The global pool, built with the defaults if nobody has built one. On a system without threads
/// it is the calling thread alone.
///
/// # Panics
/// If it must be built and cannot be.
fn global() -> &'static Arc<Registry> {
    if let Some(registry) = GLOBAL.get() {
        return registry;
    }
    let mut result = ThreadPoolBuilder::new().build_global();
    if result.as_ref().is_err_and(BuildError::is_unsupported) {
        // A system without threads: all that jobs can run on is the thread that waits for them.
        let alone = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        // A worker of another pool cannot be adopted, and knows the first error better.
        result = alone.build_global().or(result);
    }
    match result {
        Ok(()) | Err(BuildError::GlobalPoolAlreadyInitialized) => {}
        Err(error) => panic!("the global thread pool could not be built: {error}"),
    }
    GLOBAL.get().expect("built above")
}

thread_local! {
    /// How many frames of this thread keep the pool that it is a worker of from ending.
    static KEEPING_OWN_POOL: Cell<usize> = const { Cell::new(0) };
}

/// Whether a frame of this thread keeps the pool that it is a worker of from ending.
pub(crate) fn keeps_own_pool() -> bool {
    KEEPING_OWN_POOL.get() > 0
}

/// A pool that does not end while this is held.
pub(crate) struct Living {
    registry: Arc<Registry>,
    /// Counted by this thread, which was a worker of the pool.
    is_own: bool,
    /// Dropped on the same thread.
    not_send: PhantomData<*const ()>,
}

impl Living {
    /// The pool that this thread is a worker of, or the global one. A thread that was adopted, or
    /// an exit handler, may be a worker of a pool that has ended: then the global one too.
    pub(crate) fn current() -> Self {
        // SAFETY: 1. it is used at once.
        match unsafe { WorkerThread::current() } {
            Some(worker) if worker.registry().try_add_reference() => {
                // SAFETY: 1. the worker keeps its registry alive; 2. and was made with this
                // pointer.
                let registry = unsafe { Std::keep_alive(worker.registry_pointer()) };
                KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() + 1);
                Self {
                    registry,
                    is_own: true,
                    not_send: PhantomData,
                }
            }
            _ => Self::of(global()),
        }
    }

    /// This pool, which the caller keeps from ending meanwhile.
    pub(crate) fn of(registry: &Arc<Registry>) -> Self {
        registry.add_reference();
        Self {
            registry: registry.clone(),
            is_own: false,
            not_send: PhantomData,
        }
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Gives the pool to a job, which must give back the reference.
    pub(crate) fn into_registry(self) -> Arc<Registry> {
        let registry = self.registry.clone();
        registry.add_reference();
        registry
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        if self.is_own {
            KEEPING_OWN_POOL.set(KEEPING_OWN_POOL.get() - 1);
        }
        self.registry.remove_reference();
    }
}

/// Runs a closure on the worker that this thread is, or else on one of the global pool.
#[inline(always)]
pub(crate) fn in_worker<R, F>(closure: F) -> R
where
    R: Send,
    F: FnOnce(&WorkerThread, bool) -> R + Send,
{
    // SAFETY: 1. the thread stays the worker at least until the closure returns.
    match unsafe { WorkerThread::current() } {
        Some(worker) => closure(worker, false),
        None => in_global_pool(Aside::new(closure, &mut MaybeUninit::uninit())),
    }
}

#[cold]
#[inline(never)]
fn in_global_pool<R, F>(closure: Aside<'_, F>) -> R
where
    R: Send,
    F: FnOnce(&WorkerThread, bool) -> R + Send,
{
    global().in_worker_cold(closure.take())
}

/// As [`in_worker`], for what other workers may be needed for: not on one whose pool has ended.
/// The pool does not end meanwhile.
pub(crate) fn in_living_worker<R: Send>(
    closure: impl FnOnce(&WorkerThread, &Arc<Registry>) -> R + Send,
) -> R {
    let pool = Living::current();
    let registry = pool.registry();
    registry.in_worker(|worker, _| closure(worker, registry))
}

/// The number of workers in the current pool: the one that this thread is a worker of, or the
/// global one.
pub fn current_num_threads() -> usize {
    // SAFETY: 1. it is used at once.
    match unsafe { WorkerThread::current() } {
        Some(worker) => worker.registry().num_workers(),
        None => global().num_workers(),
    }
}

/// The number of the worker that this thread is, in its pool. None if it is no worker.
pub fn current_thread_index() -> Option<usize> {
    // SAFETY: 1. it is used at once.
    unsafe { WorkerThread::current() }.map(|worker| worker.index().get())
}

/// Whether the worker that this thread is has jobs queued that nobody has begun. None if it is no
/// worker.
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    // SAFETY: 1. it is used at once.
    unsafe { WorkerThread::current() }.map(WorkerThread::has_pending_jobs)
}

/// The greatest number of workers that a pool can have.
pub const fn max_num_threads() -> usize {
    MAX_THREADS
}
