//! Scopes: closures that may borrow from the frame that waits for them.

use core::{fmt, marker::PhantomData};

use pool_core::{Registry, ScopeCore, WorkerThread};

use super::{
    SpinPool,
    arena::{Arena, Slot, Spawned},
    platform::Cores,
    spawn::queue,
    worker::Worker,
};
use crate::machine::Machine;

/// How many closures a scope without an arena of its own has room for.
const SCOPE_SLOTS: usize = 16;

/// A scope: spawns closures, which may borrow from what outlives `'scope`. From
/// [`Worker::scope`], [`Worker::scope_in`] or [`SpinPool::in_place_scope`], which return when all
/// of them have been run.
///
/// # Examples
/// ```
/// # use std::cell::Cell;
/// # use pool_spin::{CoreLocal, Machine, Spin, SpinPool};
/// # thread_local!(static LOCAL: Cell<*const ()> = const { Cell::new(std::ptr::null()) });
/// # struct Local;
/// # unsafe impl CoreLocal for Local {
/// #     fn get() -> *const () { LOCAL.get() }
/// #     unsafe fn set(pointer: *const ()) { LOCAL.set(pointer) }
/// # }
/// # struct Host;
/// # unsafe impl Machine for Host { type Local = Local; type Parker = Spin; }
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// static POOL: SpinPool<Host, 1, 64> = SpinPool::new();
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
pub struct Scope<'scope, M: Machine, const CORES: usize, const JOBS: usize> {
    /// Its worker outlives it, by `in_scope`.
    core: ScopeCore<'static, Cores<M, CORES, JOBS>>,
    /// Both outlive the scope, by `in_scope`.
    registry: *const Registry<Cores<M, CORES, JOBS>>,
    slots: *const [Slot],
    /// Invariant: a closure that is spawned may hold what lives for `'scope`, no less.
    lifetime: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: the core is made for sharing, the pointers lead to what is shared by all workers.
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize> Sync for Scope<'_, M, CORES, JOBS> {}

impl<'scope, M: Machine, const CORES: usize, const JOBS: usize> Scope<'scope, M, CORES, JOBS> {
    /// Spawns a closure, which may spawn others.
    ///
    /// If the arena is full, it is run before this returns: here, if this core is a worker of the
    /// pool, otherwise on one.
    pub fn spawn<F>(&self, closure: F)
    where
        F: FnOnce(Worker<'_, M, CORES, JOBS>, &Self) + Send + 'scope,
    {
        // SAFETY: both outlive the scope.
        let (registry, slots) = unsafe { (&*self.registry, &*self.slots) };
        self.core.add_job();
        let spawned = InScope {
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

impl<M: Machine, const CORES: usize, const JOBS: usize> Worker<'_, M, CORES, JOBS> {
    /// Runs a closure that may spawn others, which may borrow from outside, and waits for all of
    /// them. Has room for 16 that have not begun, in this frame.
    ///
    /// # Examples
    /// See [`Scope`].
    pub fn scope<'scope, R>(self, body: impl FnOnce(&Scope<'scope, M, CORES, JOBS>) -> R) -> R {
        self.scope_in(&Arena::<SCOPE_SLOTS>::new(), body)
    }

    /// As [`scope`](Self::scope), with an arena of any size for what is spawned. It may be shared
    /// with other scopes.
    pub fn scope_in<'scope, const SLOTS: usize, R>(
        self,
        arena: &Arena<SLOTS>,
        body: impl FnOnce(&Scope<'scope, M, CORES, JOBS>) -> R,
    ) -> R {
        in_scope(self.0.registry(), arena.slots(), body)
    }
}

/// Runs a body that may spawn, and waits for what it spawned.
fn in_scope<'scope, M: Machine, const CORES: usize, const JOBS: usize, R>(
    registry: &Registry<Cores<M, CORES, JOBS>>,
    slots: &[Slot],
    body: impl FnOnce(&Scope<'scope, M, CORES, JOBS>) -> R,
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

impl<M: Machine, const CORES: usize, const JOBS: usize> SpinPool<M, CORES, JOBS> {
    /// As [`Worker::scope_in`], from any core: the body is run here, what it spawns on the workers.
    /// A core that is no worker waits by spinning.
    ///
    /// # Panics
    /// If the pool has ended.
    pub fn in_place_scope<'scope, const SLOTS: usize, R>(
        &'static self,
        arena: &Arena<SLOTS>,
        body: impl FnOnce(&Scope<'scope, M, CORES, JOBS>) -> R,
    ) -> R {
        let _reference = self.hold();
        in_scope(self.registry(), arena.slots(), body)
    }
}

/// A closure of a scope.
struct InScope<'scope, M: Machine, const CORES: usize, const JOBS: usize, F> {
    /// Waits for this closure.
    scope: *const Scope<'scope, M, CORES, JOBS>,
    closure: F,
}

// SAFETY: the scope is `Sync`.
unsafe impl<M: Machine, const CORES: usize, const JOBS: usize, F: Send> Send
    for InScope<'_, M, CORES, JOBS, F>
{
}

impl<'scope, M, const CORES: usize, const JOBS: usize, F> Spawned
    for InScope<'scope, M, CORES, JOBS, F>
where
    M: Machine,
    F: FnOnce(Worker<'_, M, CORES, JOBS>, &Scope<'scope, M, CORES, JOBS>) + Send,
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

impl<M: Machine, const CORES: usize, const JOBS: usize> fmt::Debug for Scope<'_, M, CORES, JOBS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.core).finish()
    }
}
