//! Scopes: closures that may borrow from the frame that waits for them.

use core::{fmt, marker::PhantomData, mem::ManuallyDrop, ptr::NonNull};

use pool_core::{JobInjector, JobQueue, JobRef, Registry, ScopeCore, Steal, WorkerThread};

use super::{
    SpinPool,
    arena::{Arena, JobNode, Slot, Spawned},
    overflow,
    spawn::current_worker_of,
    system::System,
    worker::Worker,
};

/// The number of closures for which a scope without its own arena has room.
const SCOPE_SLOTS: usize = 16;

/// A scope: spawns closures, which may borrow from what outlives `'scope`.
///
/// [`Worker::scope`], [`Worker::scope_in`] and [`SpinPool::in_place_scope`] create one, and return
/// when all its closures have run.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// use pool_spin::{Cores, SpinPool, host::Host};
///
/// static POOL: SpinPool<Cores<Host, 1, 64>> = SpinPool::new();
///
/// let sum = AtomicU32::new(0);
/// POOL.run_with(0, |worker| {
///     worker.scope(|scope| {
///         for number in 1..=100 {
///             let sum = &sum;
///             scope.spawn(move |_worker, _scope| {
///                 sum.fetch_add(number, Ordering::Relaxed);
///             });
///         }
///     });
/// })?;
/// assert_eq!(sum.into_inner(), 5050);
/// # Ok::<(), pool_spin::RunError>(())
/// ```
pub struct Scope<'scope, S: System> {
    /// Its worker outlives the scope, see `in_scope`.
    core: ScopeCore<'static, S>,
    /// The jobs that are on no worker's deque, if the scope's worker waits in isolation. No other
    /// worker looks here, because a stand-in in another queue would have to outlast the scope.
    outside: JobInjector,
    /// Registry and cells outlive the scope, see `in_scope`.
    registry: *const Registry<S>,
    slots: *const [Slot],
    /// Invariant in `'scope`: a spawned closure may hold references that live for all of `'scope`.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: the core is made for sharing, and the pointers lead to data that all workers share.
unsafe impl<S: System> Sync for Scope<'_, S> {}

impl<'scope, S: System> Scope<'scope, S> {
    /// Spawns a closure, which may spawn others.
    ///
    /// If the arena is full, the closure runs before this returns: here, if this core is a worker
    /// of the pool, otherwise on a worker. If the worker that waits for the scope is isolated, see
    /// below, the call also returns when the arena has room for the closure. An arena without cells
    /// never has room: then the call needs another worker that is not isolated.
    ///
    /// If the worker that waits for the scope is [isolated](pool_core::Isolation), some closures
    /// run only on that worker, when it waits for the scope. These are the closures that are
    /// spawned by a core that is not a worker of the pool, by a worker whose deque is full, by a
    /// job of a broadcast, and by a job that a [yield](Worker::yield_now) in an isolated job runs.
    /// So the scope's body must not wait for them. Nor may that worker, in the body or in a
    /// closure, join a job that waits for a full arena there, unless another worker is free to run
    /// that job.
    ///
    /// Another worker that has spawned in such a scope runs the jobs on its deque before it leaves
    /// the pool. A worker that waits for an event outside of the pool instead leaves them to the
    /// others. The worker that waits for the scope takes them only from a job that descends from
    /// the scope: so with two workers, the event must not depend on the spawned closures.
    ///
    /// # Examples
    /// See [`Scope`].
    pub fn spawn<F>(&self, closure: F)
    where
        F: FnOnce(Worker<'_, S>, &Self) + Send + 'scope,
    {
        // SAFETY: registry and cells outlive the scope.
        let (registry, slots) = unsafe { (&*self.registry, &*self.slots) };
        self.core.add_job(None);
        let spawned = ScopeJob {
            scope: self,
            closure,
        };
        // SAFETY: 1. The arena outlives the scope, which waits for the job. 2. So does everything
        // that lives for `'scope`.
        match unsafe { Slot::put(slots, spawned) } {
            // SAFETY: 1. The arena keeps the node until the job runs; the job is used only here,
            // and once more if the deque returns it.
            Ok((node, job)) => unsafe {
                let worker = current_worker_of(registry).filter(|worker| worker.may_post());
                let posted = worker.map_or(Err(job), |worker| {
                    self.note_owed_job(worker);
                    worker.try_post(job)
                });
                if let Err(job) = posted {
                    self.inject(registry, node, job);
                }
            },
            Err(spawned) => self.run_for_lack_of_room(registry, slots, spawned),
        }
    }
}

impl<S: System> Scope<'_, S> {
    /// Runs a closure for which the arena has no room: here, if this core is a worker of the pool,
    /// otherwise on a worker. An isolated worker takes it only from the arena, so this queues the
    /// closure as soon as there is room.
    #[cold]
    fn run_for_lack_of_room<J: Spawned>(
        &self,
        registry: &Registry<S>,
        slots: &[Slot],
        mut spawned: J,
    ) {
        let is_isolated = self.core.isolated_waiter().is_some();
        if !is_isolated || current_worker_of(registry).is_some() {
            return registry.in_worker(|_, _| {
                let spawned = ManuallyDrop::new(spawned);
                // SAFETY: 1. The closure is in this frame, and only this call uses it.
                unsafe { Spawned::run(&raw const *spawned) }
            });
        }
        while let Err(waiting) = overflow::run_unless_there_is_room(registry, slots, spawned) {
            // SAFETY: as in `spawn`.
            match unsafe { Slot::put(slots, waiting) } {
                // SAFETY: 1. as in `spawn`; the job is used only here.
                Ok((node, job)) => return unsafe { self.inject(registry, node, job) },
                Err(waiting) => spawned = waiting,
            }
        }
    }

    /// Records that a worker is about to put a job on its deque, if another worker waits for the
    /// scope in isolation. That other worker takes the job only while this worker is in a job that
    /// descends from what the other one waits for.
    fn note_owed_job(&self, worker: &WorkerThread<S>) {
        let waiter = self.core.isolated_waiter();
        if waiter.is_some_and(|waiter| waiter != worker.index()) {
            worker.note_owed_job();
        }
    }

    /// Queues a job for a core that is not a worker of the pool, or for a worker whose deque is
    /// full.
    ///
    /// # Safety
    /// 1. As for [`JobQueue::push`].
    unsafe fn inject(&self, registry: &Registry<S>, node: NonNull<JobNode>, job: JobRef) {
        // SAFETY: obligation 1 is forwarded to our caller.
        unsafe {
            match self.core.isolated_waiter() {
                Some(waiter) => {
                    JobQueue::push(&self.outside, node, job);
                    registry.call_isolated_waiter(waiter);
                }
                None => registry.inject(node, job),
            }
        }
    }

    /// Takes a job that is on no worker's deque.
    fn take_outside(&self) -> Option<JobRef> {
        loop {
            match JobQueue::steal(&self.outside) {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => core::hint::spin_loop(),
            }
        }
    }
}

impl<S: System> Worker<'_, S> {
    /// Creates a scope and passes it to a closure, which may spawn others that borrow from outside.
    /// Waits for all spawned closures.
    ///
    /// The scope has room for 16 closures that have not begun, in this frame.
    ///
    /// # Examples
    /// See [`Scope`].
    pub fn scope<'scope, R>(self, body: impl FnOnce(&Scope<'scope, S>) -> R) -> R {
        self.scope_in(&Arena::<SCOPE_SLOTS>::new(), body)
    }

    /// Creates a scope as [`scope`](Self::scope) does, with an arena of any size for its closures.
    ///
    /// Scopes may share an arena.
    ///
    /// # Examples
    /// See [`Arena`].
    pub fn scope_in<'scope, const SLOTS: usize, R>(
        self,
        arena: &Arena<SLOTS>,
        body: impl FnOnce(&Scope<'scope, S>) -> R,
    ) -> R {
        in_scope(self.0.registry(), arena.as_ref(), body)
    }
}

/// Runs a body that may spawn closures, and waits for all of them.
fn in_scope<'scope, S: System, R>(
    registry: &Registry<S>,
    slots: &[Slot],
    body: impl FnOnce(&Scope<'scope, S>) -> R,
) -> R {
    // SAFETY: 1. The reference is used only in this call, during which the worker does not leave;
    // the scope ends before.
    let owner = unsafe { WorkerThread::current() };
    let scope = Scope {
        core: ScopeCore::new(owner, registry),
        outside: JobInjector::new(),
        registry,
        slots,
        lifetime: PhantomData,
    };
    let take = || scope.take_outside();
    scope.core.complete_by(
        || body(&scope),
        // SAFETY: 1. The queue gives out each job once.
        |body| unsafe { scope.core.run_taking(owner, &take, body) },
    )
}

impl<S: System> SpinPool<S> {
    /// Creates a scope as [`Worker::scope_in`] does, from any core. The body runs here, the
    /// closures that it spawns run on the workers.
    ///
    /// A core that is not a worker spins until all have run.
    ///
    /// # Panics
    /// If the pool has ended, unless this core is one of its workers.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// use pool_spin::{Arena, Cores, SpinPool, host::{self, Host}};
    ///
    /// static POOL: SpinPool<Cores<Host, 2, 64>> = SpinPool::new();
    ///
    /// let sum = AtomicU32::new(0);
    /// host::with_workers(&POOL, || {
    ///     POOL.in_place_scope(&Arena::<4>::new(), |scope| {
    ///         for number in 1..=10 {
    ///             let sum = &sum;
    ///             scope.spawn(move |_, _| {
    ///                 sum.fetch_add(number, Ordering::Relaxed);
    ///             });
    ///         }
    ///     });
    /// });
    /// assert_eq!(sum.into_inner(), 55);
    /// ```
    pub fn in_place_scope<'scope, const SLOTS: usize, R>(
        &'static self,
        arena: &Arena<SLOTS>,
        body: impl FnOnce(&Scope<'scope, S>) -> R,
    ) -> R {
        let _reference = self.hold();
        in_scope(self.registry(), arena.as_ref(), body)
    }
}

/// A closure of a scope.
struct ScopeJob<'scope, S: System, F> {
    /// The scope that waits for this closure.
    scope: *const Scope<'scope, S>,
    closure: F,
}

// SAFETY: the scope is `Sync`.
unsafe impl<S: System, F: Send> Send for ScopeJob<'_, S, F> {}

impl<'scope, S, F> Spawned for ScopeJob<'scope, S, F>
where
    S: System,
    F: FnOnce(Worker<'_, S>, &Scope<'scope, S>) + Send,
{
    unsafe fn run(this: *const Self) {
        // SAFETY: by obligation 1.
        let Self { scope, closure } = unsafe { this.read() };
        // SAFETY: 1. The reference is used only in this call; jobs run on workers.
        let worker = unsafe { WorkerThread::current() }.expect("jobs run on workers");
        // SAFETY: the scope waits for us until `job_done`; the references end before. `job_done`:
        // 1. `spawn` has counted this closure, which runs once. 2. Pools are statics.
        unsafe {
            (*scope).core.run_job(|| closure(Worker(worker), &*scope));
            ScopeCore::job_done(&raw const (*scope).core);
        }
    }
}

impl<S: System> fmt::Debug for Scope<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.core).finish()
    }
}
