//! The ways into a pool: closures that are spawned, and closures that are installed.

use pool_core::{Priority, Registry, WorkerThread};

use super::{
    SpinPool,
    arena::{Slot, Spawned},
    error::{SpawnError, SpawnErrorReason},
    platform::run,
    system::System,
    worker::Worker,
};

impl<S: System> SpinPool<S> {
    /// Runs a closure on one of the workers and returns its result: for cores that are not workers.
    ///
    /// Such a core spins until the closure has run. While the pool has no worker, it waits for one
    /// to arrive. On a worker, the closure runs at once.
    ///
    /// # Panics
    /// If the pool has ended, unless this core is one of its workers;
    /// [`try_install`](Self::try_install) returns an error instead.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::{self, Host}};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// host::with_workers(&POOL, || {
    ///     let (a, b) = POOL.install(|core| core.join(|_| 1, |_| 2));
    ///     assert_eq!((a, b), (1, 2));
    /// });
    /// ```
    pub fn install<R: Send>(&'static self, closure: impl FnOnce(Worker<'_, S>) -> R + Send) -> R {
        let _reference = self.hold();
        self.registry()
            .in_worker(|worker, _| closure(Worker(worker)))
    }

    /// Runs a closure as [`install`](Self::install) does, or returns it if the pool has ended.
    ///
    /// # Errors
    /// [`SpawnError`] with [`SpawnErrorReason::Ended`], unless this core is one of the workers.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpawnErrorReason, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// POOL.end();
    /// let error = POOL.try_install(|core| core.index()).unwrap_err();
    /// assert_eq!(error.reason, SpawnErrorReason::Ended);
    /// ```
    pub fn try_install<F, R>(&'static self, closure: F) -> Result<R, SpawnError<F>>
    where
        F: FnOnce(Worker<'_, S>) -> R + Send,
        R: Send,
    {
        let Some(_reference) = self.try_hold() else {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        };
        Ok(self
            .registry()
            .in_worker(|worker, _| closure(Worker(worker))))
    }

    /// Keeps the pool usable until the guard is dropped.
    ///
    /// # Panics
    /// If the pool has ended, unless this core is one of its workers.
    pub(crate) fn hold(&'static self) -> PoolGuard<S> {
        self.try_hold().expect("the pool has ended")
    }

    /// Keeps the pool from ending until the guard is dropped. If the pool has ended, one of its
    /// workers may still use it, because the worker does not leave before the guard is dropped: the
    /// worker may be in an operation, which holds no reference.
    pub(crate) fn try_hold(&'static self) -> Option<PoolGuard<S>> {
        let registry = self.registry();
        if registry.try_add_reference() {
            return Some(PoolGuard(Some(self)));
        }
        current_worker_of(registry).map(|_| PoolGuard(None))
    }
}

/// One of a pool's references, or none for a worker of a pool that has ended.
pub(crate) struct PoolGuard<S: System>(Option<&'static SpinPool<S>>);

impl<S: System> Drop for PoolGuard<S> {
    fn drop(&mut self) {
        if let Some(pool) = self.0 {
            pool.registry().remove_reference();
        }
    }
}

impl<S: System> SpinPool<S> {
    /// Spawns a closure that runs in the background, from any core and from interrupt handlers.
    ///
    /// A reference to a `static` closure is a closure, too. The call does not wait: it takes one of
    /// [`JOBS`](System::JOBS) cells and pushes onto a lock-free queue. It repeats the push only
    /// when another core pushes or takes at the same moment.
    ///
    /// # Errors
    /// [`SpawnError`] with the closure if there is no room for it, or if the pool has ended. A
    /// [`Task`](crate::Task) provides its own room.
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpawnErrorReason, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 1, 2>> = SpinPool::new();
    ///
    /// // In an interrupt handler; no worker has arrived yet.
    /// assert!(POOL.spawn(|_core| println!("first")).is_ok());
    /// assert!(POOL.spawn(|_core| println!("second")).is_ok());
    /// let error = POOL.spawn(|_core| println!("third")).unwrap_err();
    /// assert_eq!(error.reason, SpawnErrorReason::Full);
    ///
    /// POOL.end();
    /// POOL.run_worker(0)?; // runs the two
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn spawn<F>(&'static self, closure: F) -> Result<(), SpawnError<F>>
    where
        F: FnOnce(Worker<'_, S>) + Send + 'static,
    {
        self.spawn_with(Priority::Normal, closure)
    }

    /// Spawns a closure as [`spawn`](Self::spawn) does, to be run before or after other jobs.
    ///
    /// No closure is interrupted: the priority determines which job a worker begins next. No
    /// priority keeps other jobs from running: instead of each 64th urgent one, and each 64th of
    /// any kind, a worker takes a job from another source.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn).
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, Priority, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 1, 8>> = SpinPool::new();
    ///
    /// assert!(POOL.spawn_with(Priority::Background, |_| println!("third")).is_ok());
    /// assert!(POOL.spawn(|_| println!("second")).is_ok());
    /// assert!(POOL.spawn_with(Priority::Urgent, |_| println!("first")).is_ok());
    ///
    /// POOL.end();
    /// POOL.run_worker(0)?; // runs the three
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn spawn_with<F>(&'static self, priority: Priority, closure: F) -> Result<(), SpawnError<F>>
    where
        F: FnOnce(Worker<'_, S>) + Send + 'static,
    {
        let registry = self.registry();
        if !registry.try_add_reference() {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        }
        let spawned = SpawnJob::<S, F> { registry, closure };
        // SAFETY: 1. The arena is part of the pool, and pools are statics. 2. The closure is
        // `'static`.
        match unsafe { Slot::put(registry.data().arena.as_ref(), spawned) } {
            Ok((node, job)) => {
                // SAFETY: 1. The node belongs to the job alone.
                unsafe { registry.inject_with(priority, node, job) };
                Ok(())
            }
            Err(SpawnJob { closure, .. }) => {
                registry.remove_reference();
                let reason = SpawnErrorReason::Full;
                Err(SpawnError { closure, reason })
            }
        }
    }
}

impl<S: System> Worker<'_, S> {
    /// Spawns a closure that runs in the background: it goes onto this worker's own deque, or, if
    /// the deque is full or this worker is [isolated](Self::isolate), to the queue for closures
    /// from outside.
    ///
    /// If the pool has no room for the closure, or has ended, it runs at once, within this call. So
    /// a closure that spawns itself needs [`try_spawn`](Self::try_spawn).
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use pool_spin::{Cores, SpinPool, host::{self, Host}};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    /// static RUNS: AtomicU32 = AtomicU32::new(0);
    ///
    /// host::with_workers(&POOL, || {
    ///     POOL.install(|core| {
    ///         for _ in 0..100 {
    ///             core.spawn(|_| {
    ///                 RUNS.fetch_add(1, Ordering::Relaxed);
    ///             });
    ///         }
    ///     });
    /// });
    /// assert_eq!(RUNS.load(Ordering::Relaxed), 100); // the end of the pool waits for them
    /// ```
    pub fn spawn(self, closure: impl FnOnce(Worker<'_, S>) + Send + 'static) {
        if let Err(error) = self.try_spawn(closure) {
            run(|| (error.closure)(self));
        }
    }

    /// Spawns a closure as [`spawn`](Self::spawn) does, or returns it if there is no room for it or
    /// the pool has ended.
    ///
    /// # Errors
    /// [`SpawnError`] with [`SpawnErrorReason::Full`]; or with [`SpawnErrorReason::Ended`], in the
    /// condition of [`SpinPool::run_worker_until`] and in an [operation](Self::schedule).
    ///
    /// # Examples
    /// ```
    /// use pool_spin::{Cores, SpinPool, host::Host};
    ///
    /// static POOL: SpinPool<Cores<Host, 1, 2>> = SpinPool::new();
    ///
    /// let refused = POOL.run_with(0, |core| {
    ///     (0..5).filter(|_| core.try_spawn(|_| ()).is_err()).count()
    /// })?;
    /// assert_eq!(refused, 3); // the pool has room for 2
    /// # Ok::<(), pool_spin::RunError>(())
    /// ```
    pub fn try_spawn<F>(self, closure: F) -> Result<(), SpawnError<F>>
    where
        F: FnOnce(Worker<'_, S>) + Send + 'static,
    {
        let registry = self.0.registry();
        // The condition of a worker's loop, or an operation, may call this after the end.
        if !registry.try_add_reference_of_job() {
            let reason = SpawnErrorReason::Ended;
            return Err(SpawnError { closure, reason });
        }
        let spawned = SpawnJob::<S, F> { registry, closure };
        // SAFETY: 1. The arena is part of the pool, and pools are statics. 2. The closure is
        // `'static`.
        match unsafe { Slot::put(registry.data().arena.as_ref(), spawned) } {
            Ok((node, job)) => {
                let worker = current_worker_of(registry);
                // The waits of an isolated worker would run the job, although none of them waits
                // for it.
                let worker = worker.filter(|worker| !worker.is_isolated());
                // SAFETY: 1. The arena keeps the node until the job runs; the job is used only
                // here, and once more if the deque returns it.
                unsafe {
                    let posted = worker.map_or(Err(job), |worker| worker.try_post(job));
                    if let Err(job) = posted {
                        registry.inject(node, job);
                    }
                }
                Ok(())
            }
            Err(SpawnJob { closure, .. }) => {
                registry.remove_reference_of_job();
                let reason = SpawnErrorReason::Full;
                Err(SpawnError { closure, reason })
            }
        }
    }
}

/// Returns the worker of this core, if it is a worker of this pool.
///
/// The reference must not outlive the core's stay on the worker.
pub(crate) fn current_worker_of<S: System>(registry: &Registry<S>) -> Option<&WorkerThread<S>> {
    // SAFETY: 1. Callers use the reference at once.
    let worker = unsafe { WorkerThread::<S>::current() };
    worker.filter(|worker| core::ptr::eq(worker.registry(), registry))
}

/// A closure that runs in the background. It holds one of the pool's references until it has run.
struct SpawnJob<S: System, F> {
    /// The registry of a pool in a static.
    registry: *const Registry<S>,
    closure: F,
}

// SAFETY: the registry is shared by all workers.
unsafe impl<S: System, F: Send> Send for SpawnJob<S, F> {}

impl<S, F> Spawned for SpawnJob<S, F>
where
    S: System,
    F: FnOnce(Worker<'_, S>) + Send,
{
    unsafe fn run(this: *const Self) {
        // SAFETY: by obligation 1.
        let Self { registry, closure } = unsafe { this.read() };
        // SAFETY: 1. The reference is used only in this call; jobs run on workers.
        let worker = unsafe { WorkerThread::current() }.expect("jobs run on workers");
        run(|| closure(Worker(worker)));
        // SAFETY: the pool is in a static.
        unsafe { (*registry).remove_reference_of_job() };
    }
}
