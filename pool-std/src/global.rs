//! The global pool, and the current one.

use std::sync::{Arc, Mutex, OnceLock};

use pool_core::Platform;

use crate::{
    builder::{MAX_THREADS, ThreadPoolBuilder},
    error::BuildError,
    platform::{Registry, Std, WorkerThread},
    pool::ThreadPool,
    thread::{ThreadSpawn, lock},
};

static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();

/// Held while the global pool is being built, so that only one is.
static BUILDING: Mutex<()> = Mutex::new(());

/// Builds the global pool if there is none, or says that there is.
pub(crate) fn initialize<S: ThreadSpawn>(builder: ThreadPoolBuilder<S>) -> Result<(), BuildError> {
    let _building = lock(&BUILDING);
    if GLOBAL.get().is_some() {
        return Err(BuildError::GlobalPoolAlreadyInitialized);
    }
    let pool = builder.build()?;
    GLOBAL.set(pool).expect("set only while building");
    Ok(())
}

/// The global pool, built with the defaults if nobody has built one.
///
/// # Panics
/// If it must be built and cannot be.
fn global() -> &'static ThreadPool {
    if let Some(pool) = GLOBAL.get() {
        return pool;
    }
    match initialize(ThreadPoolBuilder::new()) {
        Ok(()) | Err(BuildError::GlobalPoolAlreadyInitialized) => {}
        Err(error) => panic!("the global thread pool could not be built: {error}"),
    }
    GLOBAL.get().expect("initialized above")
}

/// The pool that this thread is a worker of, or the global one.
pub(crate) fn current_registry() -> Arc<Registry> {
    // SAFETY: 1. it is used at once.
    match unsafe { WorkerThread::current() } {
        // SAFETY: 1. the worker keeps its registry alive; 2. and was made with this pointer.
        Some(worker) => unsafe { Std::keep_alive(worker.registry_pointer()) },
        None => global().registry().clone(),
    }
}

/// Runs a closure on the worker that this thread is, or else on one of the global pool.
#[inline]
pub(crate) fn in_worker<R: Send>(closure: impl FnOnce(&WorkerThread, bool) -> R + Send) -> R {
    // SAFETY: 1. the thread stays the worker at least until the closure returns.
    match unsafe { WorkerThread::current() } {
        Some(worker) => closure(worker, false),
        None => global().registry().in_worker_cold(closure),
    }
}

/// The number of workers in the current pool: the one that this thread is a worker of, or the
/// global one.
#[must_use]
pub fn current_num_threads() -> usize {
    // SAFETY: 1. it is used at once.
    match unsafe { WorkerThread::current() } {
        Some(worker) => worker.registry().num_workers(),
        None => global().current_num_threads(),
    }
}

/// The number of the worker that this thread is, in its pool. None if it is no worker.
#[must_use]
pub fn current_thread_index() -> Option<usize> {
    // SAFETY: 1. it is used at once.
    unsafe { WorkerThread::current() }.map(|worker| worker.index().get())
}

/// Whether the worker that this thread is has jobs queued that nobody has begun. None if it is no
/// worker.
#[must_use]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    // SAFETY: 1. it is used at once.
    unsafe { WorkerThread::current() }.map(WorkerThread::has_pending_jobs)
}

/// The greatest number of workers that a pool can have.
#[must_use]
pub const fn max_num_threads() -> usize {
    MAX_THREADS
}
