//! Scopes: any number of jobs that may borrow from the frame that waits for them.

use std::{fmt, marker::PhantomData, sync::Arc};

use pool_core::{JobFifo, ScopeCore};

use crate::{
    api::broadcast::{BroadcastContext, inject_on_each},
    platform::{Queue, Registry, Std, WorkerThread},
    thread_pool::{global::in_running_pool, guard::PoolGuard, id::PoolId},
    worker::job::{AnyScope, NO_NODE, current_worker_of, post_or_inject, scope_job},
};

/// A body of jobs of `'scope`: what a scope may hold.
type Marker<'scope> = PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>;

/// Spawns jobs that may borrow what outlives the scope. Made by [`scope()`].
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// As [`Scope`], for jobs that are begun in the order in which they were spawned. Made by
/// [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
    /// One for each worker: the order is kept among the jobs that the same worker spawns.
    fifos: Vec<JobFifo<Std>>,
}

struct ScopeBase<'scope> {
    /// Its worker outlives it, by `new`.
    core: ScopeCore<'static, Std>,
    registry: Arc<Registry>,
    marker: Marker<'scope>,
}

/// Runs `body` on the current pool, and returns when all jobs that were spawned in it have ended.
///
/// Jobs may borrow everything that outlives the call. They may spawn more jobs. Jobs that one
/// worker spawns are begun newest first, unless they are stolen. If this thread is no worker, the
/// body too is handed to a worker of the global pool.
///
/// Each job is one allocation. The stack does not grow with the number of jobs.
///
/// # Panics
/// Continues the first panic of the body or a job, when all have ended.
///
/// # Examples
/// ```
/// let mut numbers = [1, 2, 3];
/// pool_std::scope(|scope| {
///     for number in &mut numbers {
///         scope.spawn(move |_| *number *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
///
/// What ends with the body cannot be borrowed:
/// ```compile_fail,E0373
/// pool_std::scope(|scope| {
///     let short = 1;
///     scope.spawn(|_| println!("{short}"));
/// });
/// ```
pub fn scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_running_pool(|_, pool| in_place_scope_on(pool, body))
}

/// As [`scope()`], but the jobs that one worker spawns are begun in the order of their spawning.
pub fn scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    in_running_pool(|_, pool| in_place_scope_fifo_on(pool, body))
}

/// As [`scope()`], but runs the body on this thread, worker or not, so that it need not be `Send`.
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    in_place_scope_on(PoolGuard::current().registry(), body)
}

/// As [`scope_fifo`], but runs the body on this thread, worker or not, so that it need not be
/// `Send`.
pub fn in_place_scope_fifo<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place_scope_fifo_on(PoolGuard::current().registry(), body)
}

pub(crate) fn in_place_scope_on<'scope, R>(
    registry: &Arc<Registry>,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    // SAFETY: 1. this thread stays the worker until the call returns, and the scope ends before.
    let owner = unsafe { WorkerThread::current() };
    let scope = Scope {
        base: ScopeBase::new(owner, registry.clone()),
    };
    scope.base.core.complete(owner, || body(&scope))
}

pub(crate) fn in_place_scope_fifo_on<'scope, R>(
    registry: &Arc<Registry>,
    body: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    // SAFETY: 1. this thread stays the worker until the call returns, and the scope ends before.
    let owner = unsafe { WorkerThread::current() };
    let scope = ScopeFifo::new(owner, registry.clone());
    scope.base.core.complete(owner, || body(&scope))
}

impl<'scope> ScopeBase<'scope> {
    fn new(owner: Option<&'static WorkerThread>, registry: Arc<Registry>) -> Self {
        Self {
            core: ScopeCore::new(owner, &registry),
            registry,
            marker: PhantomData,
        }
    }
}

impl AnyScope for Scope<'_> {
    fn core(&self) -> &ScopeCore<'_, Std> {
        &self.base.core
    }
}

impl AnyScope for ScopeFifo<'_> {
    fn core(&self) -> &ScopeCore<'_, Std> {
        &self.base.core
    }
}

/// Spawns a job of a scope on each worker of the pool.
///
/// # Safety
/// 1. What `body` borrows outlives the scope.
unsafe fn spawn_broadcast_in<S: AnyScope>(
    scope: &S,
    registry: &Registry,
    body: impl Fn(&S, BroadcastContext<'_>) + Send + Sync,
) {
    let body = Arc::new(body);
    inject_on_each(registry, || {
        let body = body.clone();
        // SAFETY: 1. it is queued at once; 2. is handed on.
        unsafe {
            scope_job(scope, move |scope| {
                BroadcastContext::with(|context| body(scope, context))
            })
        }
    });
}

impl<'scope> Scope<'scope> {
    /// Spawns a job, which is given the scope so that it may spawn more.
    pub fn spawn<F>(&self, body: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        // SAFETY: `scope_job`: 1. the next call queues it; 2. `'scope` outlives the scope.
        // `post_or_inject`: 1. the reference is used for this alone.
        unsafe { post_or_inject(&self.base.registry, scope_job(self, body)) };
    }

    /// Spawns a job on each worker of the pool.
    pub fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: 1. `'scope` outlives the scope.
        unsafe { spawn_broadcast_in(self, &self.base.registry, body) };
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn new(owner: Option<&'static WorkerThread>, registry: Arc<Registry>) -> Self {
        let fifos = (0..registry.num_workers())
            .map(|_| JobFifo::new(Queue::new()))
            .collect();
        Self {
            base: ScopeBase::new(owner, registry),
            fifos,
        }
    }

    /// Spawns a job, which is given the scope so that it may spawn more.
    pub fn spawn_fifo<F>(&self, body: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        let registry = &self.base.registry;
        // SAFETY: 1. it is queued below; 2. `'scope` outlives the scope.
        let job = unsafe { scope_job(self, body) };
        match current_worker_of(registry) {
            // SAFETY: `push`: 1. the queue needs no node; 2. the scope waits for the job, and a
            // stand-in has been run when its job begins. `post`: 1. the stand-in is
            // used for this alone.
            Some(worker) => unsafe {
                let fifo = &self.fifos[worker.index().get()];
                worker.post(fifo.push(NO_NODE, job));
            },
            // SAFETY: 1. the queue needs no node. The injector is in order by itself.
            None => unsafe { registry.inject(NO_NODE, job) },
        }
    }

    /// Spawns a job on each worker of the pool.
    pub fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: 1. `'scope` outlives the scope.
        unsafe { spawn_broadcast_in(self, &self.base.registry, body) };
    }
}

impl ScopeBase<'_> {
    fn debug(&self, output: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        output
            .field("pool_id", &PoolId::of(&self.registry))
            .field("panic", &self.core.has_panicked())
            .field("job_completed_latch", &self.core)
            .finish()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.debug(&mut f.debug_struct("Scope"))
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("ScopeFifo");
        self.base
            .debug(output.field("num_fifos", &self.fifos.len()))
    }
}
