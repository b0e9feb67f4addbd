//! Scopes: closures that may borrow from the frame that waits for them.

use core::{fmt, marker::PhantomData};

use pool_core::{Registry, ScopeCore, WorkerThread};

use super::{
    SpinPool,
    arena::{Arena, Slot, Spawned},
    spawn::queue,
    system::System,
    worker::Worker,
};

/// How many closures a scope without an arena of its own has room for.
const SCOPE_SLOTS: usize = 16;

/// A scope: spawns closures, which may borrow from what outlives `'scope`. From
/// [`Worker::scope`], [`Worker::scope_in`] or [`SpinPool::in_place_scope`], which return when all
/// of them have been run.
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
    /// Its worker outlives it, by `in_scope`.
    core: ScopeCore<'static, S>,
    /// Both outlive the scope, by `in_scope`.
    registry: *const Registry<S>,
    slots: *const [Slot],
    /// Invariant: a closure that is spawned may hold what lives for `'scope`, no less.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: the core is made for sharing, the pointers lead to what is shared by all workers.
unsafe impl<S: System> Sync for Scope<'_, S> {}

impl<'scope, S: System> Scope<'scope, S> {
    /// Spawns a closure, which may spawn others.
    ///
    /// If the arena is full, it is run before this returns: here, if this core is a worker of the
    /// pool, otherwise on one.
    pub fn spawn<F>(&self, closure: F)
    where
        F: FnOnce(Worker<'_, S>, &Self) + Send + 'scope,
    {
        // SAFETY: both outlive the scope.
        let (registry, slots) = unsafe { (&*self.registry, &*self.slots) };
        self.core.add_job();
        let spawned = ScopeJob {
            scope: self,
            closure,
        };
        // SAFETY: 1. the arena outlives the scope, which waits for the job, and 2. so does what
        // lives for `'scope`.
        match unsafe { Slot::put(slots, spawned) } {
            // SAFETY: 1. as above, and this is the only use.
            Ok((node, job)) => unsafe { queue(registry, node, job) },
            Err(spawned) => registry.in_worker(|_, _| spawned.run()),
        }
    }
}

impl<S: System> Worker<'_, S> {
    /// Runs a closure that may spawn others, which may borrow from outside, and waits for all of
    /// them. Has room for 16 that have not begun, in this frame.
    ///
    /// # Examples
    /// See [`Scope`].
    pub fn scope<'scope, R>(self, body: impl FnOnce(&Scope<'scope, S>) -> R) -> R {
        self.scope_in(&Arena::<SCOPE_SLOTS>::new(), body)
    }

    /// As [`scope`](Self::scope), with an arena of any size for what is spawned. It may be shared
    /// with other scopes.
    pub fn scope_in<'scope, const SLOTS: usize, R>(
        self,
        arena: &Arena<SLOTS>,
        body: impl FnOnce(&Scope<'scope, S>) -> R,
    ) -> R {
        in_scope(self.0.registry(), arena.as_ref(), body)
    }
}

/// Runs a body that may spawn, and waits for what it spawned.
fn in_scope<'scope, S: System, R>(
    registry: &Registry<S>,
    slots: &[Slot],
    body: impl FnOnce(&Scope<'scope, S>) -> R,
) -> R {
    // SAFETY: 1. used in this call only, during which nothing leaves; the scope ends before.
    let owner = unsafe { WorkerThread::current() };
    let scope = Scope {
        core: ScopeCore::new(owner, registry),
        registry,
        slots,
        lifetime: PhantomData,
    };
    scope.core.complete(owner, || body(&scope))
}

impl<S: System> SpinPool<S> {
    /// As [`Worker::scope_in`], from any core: the body is run here, what it spawns on the workers.
    /// A core that is no worker waits by spinning.
    ///
    /// # Panics
    /// If the pool has ended.
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
    /// Waits for this closure.
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
    fn run(self) {
        let Self { scope, closure } = self;
        // SAFETY: 1. used in this call only; jobs are run by workers.
        let worker = unsafe { WorkerThread::current() }.expect("jobs run on workers");
        // SAFETY: the scope waits for us until `job_done`; the references end before it. `job_done`:
        // 1. `spawn` has counted this closure, which is run once; 2. pools are statics.
        unsafe {
            (*scope).core.catch(|| closure(Worker(worker), &*scope));
            ScopeCore::job_done(&raw const (*scope).core);
        }
    }
}

impl<S: System> fmt::Debug for Scope<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.core).finish()
    }
}
