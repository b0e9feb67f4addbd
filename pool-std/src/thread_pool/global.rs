//! The global pool of a process: how it is built, taken, and forbidden.

use std::{
    cell::Cell,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    fork::{Here, PerProcess},
    platform::Registry,
    sync::{Mutex, OnceLock, lock},
    thread_pool::{
        ThreadPool, builder::ThreadPoolBuilder, call::start_lazy_threads, error::BuildError,
    },
};

/// The global pool of a process, until it is taken out.
#[derive(Default)]
struct Global {
    /// Has a reference, so that the pool does not end, until the pool is taken out.
    pool: OnceLock<Arc<Registry>>,
    /// Held while the pool is being built, so that there is only one.
    building: Mutex<()>,
}

static GLOBAL: PerProcess<Global> = PerProcess::new();

thread_local! {
    /// This thread holds or awaits `Global::building`, and would wait for itself.
    static BUILDING_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Sets `BUILDING_HERE` until it is dropped.
struct BuildingHere;

impl BuildingHere {
    /// # Panics
    /// If this thread is building the global pool already.
    fn enter() -> Self {
        assert!(
            !BUILDING_HERE.replace(true),
            "a closure that helps to build the global pool cannot use it"
        );
        Self
    }
}

impl Drop for BuildingHere {
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
    let _here = BuildingHere::enter();
    with_building(|global| {
        if global.pool.get().is_some() {
            return Err(BuildError::GlobalPoolAlreadyInitialized);
        }
        // Ordering: Relaxed; written under the lock that this thread holds.
        if IS_FORBIDDEN.load(Ordering::Relaxed) {
            return Err(BuildError::GlobalPoolForbidden);
        }
        let registry = build()?;
        global.pool.set(registry).expect("set only while building");
        Ok(())
    })
}

/// Calls a closure with the global pool of this process, which no other thread builds or takes out
/// meanwhile.
fn with_building<R>(closure: impl FnOnce(&'static Here<Global>) -> R) -> R {
    loop {
        let global = GLOBAL.here();
        let building = lock(&global.building);
        // Another thread may have taken it out before this one had the lock.
        if ptr::eq(global, GLOBAL.here()) {
            let result = closure(global);
            drop(building);
            return result;
        }
    }
}

/// Whether the global pool is forbidden. Written under the lock that guards building it.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Forbids the global pool in this process and its children. This is for a program or a library in
/// which no threads may be started implicitly.
///
/// From now on, a function that would use the global pool panics instead, and
/// [`build_global`](ThreadPoolBuilder::build_global) returns
/// [`GlobalPoolForbidden`](BuildError::GlobalPoolForbidden). Other pools work as before, and so do
/// the free functions on their workers.
///
/// # Errors
/// [`GlobalPoolAlreadyInitialized`](BuildError::GlobalPoolAlreadyInitialized) if there is a global
/// pool. [`take_global_pool`] removes it.
///
/// # Panics
/// If this thread is building the global pool.
///
/// # Examples
/// ```
/// use pool_std::{BuildError, ThreadPoolBuilder};
///
/// pool_std::forbid_global_pool()?;
/// let built = ThreadPoolBuilder::new().build_global();
/// assert!(matches!(built, Err(BuildError::GlobalPoolForbidden)));
/// assert!(std::panic::catch_unwind(|| pool_std::join(|| 1, || 2)).is_err());
///
/// let pool = ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(|| pool_std::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), BuildError>(())
/// ```
pub fn forbid_global_pool() -> Result<(), BuildError> {
    let _here = BuildingHere::enter();
    with_building(|global| {
        if global.pool.get().is_some() {
            return Err(BuildError::GlobalPoolAlreadyInitialized);
        }
        // Ordering: Relaxed; read under the lock that this thread holds.
        IS_FORBIDDEN.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// Takes the global pool, if there is one: the caller becomes its owner, and can wait for its
/// threads to exit, or end it and build another one.
///
/// The next function that needs a global pool builds one, unless the program has called
/// [`build_global`](ThreadPoolBuilder::build_global) before. Workers of the taken pool continue to
/// use that pool. A call that another thread has begun continues in the pool where it began.
///
/// A thread that takes the pool in the body of an [`in_place_scope`](crate::in_place_scope), in the
/// iterator of [`spawn_many`](crate::spawn_many()), or in the closure of
/// [`driver::with`](crate::driver::with), keeps the pool alive until that call returns. So a wait
/// there until the pool is idle, or has ended, returns an error.
///
/// The parts of the pool that a call may still read, some kilobytes per worker, are never freed. So
/// use this at the end of a program or of a phase, not for each task.
///
/// # Panics
/// If this thread is building the global pool.
///
/// # Examples
/// ```
/// use pool_std::ThreadPoolBuilder;
///
/// ThreadPoolBuilder::new().num_threads(2).build_global()?;
/// pool_std::spawn(|| println!("this is printed before the pool has ended"));
///
/// pool_std::take_global_pool().expect("built above").shutdown()?;
/// ThreadPoolBuilder::new().num_threads(3).build_global()?;
/// assert_eq!(pool_std::current_num_threads(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "shutdown")]
#[doc(alias = "terminate")]
#[must_use = "a pool that is dropped ends"]
pub fn take_global_pool() -> Option<ThreadPool> {
    let _here = BuildingHere::enter();
    with_building(|global| {
        let registry = global.pool.get()?.clone();
        GLOBAL.replace(Some(global));
        Some(ThreadPool::new(registry))
    })
}

/// Returns the global pool, and builds it with the defaults if there is none. On a system without
/// threads it is the calling thread alone. Its threads run from now on.
///
/// # Panics
/// If it must be built and cannot be.
pub(super) fn global() -> &'static Arc<Registry> {
    let registry = global_without_threads();
    if registry.data().lazy.are_pending() {
        start_lazy_threads(registry);
    }
    registry
}

/// Returns the global pool as [`global`] does, but its threads may not have been started.
pub(super) fn global_without_threads() -> &'static Arc<Registry> {
    let global = GLOBAL.here();
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
        Err(error) => panic!("a call needs the global thread pool: {error}"),
    }
    global.pool.get().expect("built above")
}
