//! Scopes: any number of jobs, which may borrow from the frame that waits for them.

use std::{fmt, marker::PhantomData, panic::RefUnwindSafe, ptr, sync::Arc};

use pool_core::{JobRef, ScopeCore};

use crate::{
    api::{
        broadcast::{BroadcastContext, inject_on_each},
        current_pool::CurrentPool,
        scope_job::{AnyScope, scope_job, uncounted_scope_job},
        spawn::{NO_NODE, queue_many},
    },
    fork,
    platform::{Registry, Std, WorkerThread},
    sync::OnceLock,
    thread_pool::{current::PoolGuard, id::PoolId},
    worker::current_worker_of,
};
mod fifo;
mod outside;

pub(crate) use fifo::in_place_scope_fifo_on;
pub use fifo::{ScopeFifo, in_place_scope_fifo, scope_fifo};
use outside::OutsideJobs;
pub(crate) use outside::OutsideScopes;

/// Makes a scope invariant in `'scope`, like the jobs that it may hold.
type Marker<'scope> = PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>;

/// Spawns jobs that may borrow data that outlives the scope. Created by [`scope()`].
///
/// # Examples
/// ```
/// let mut halves = [1, 2];
/// pool_std::scope(|scope: &pool_std::Scope<'_>| {
///     for half in &mut halves {
///         scope.spawn(move |_| *half *= 10);
///     }
/// });
/// assert_eq!(halves, [10, 20]);
/// ```
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// The fields that all workers read come first. The field `core` contains what they write, on
/// separate cache lines.
#[repr(C)]
struct ScopeBase<'scope> {
    /// It outlives the scope, by `new`, and so does the worker of `core`.
    registry: &'static Registry,
    /// The jobs that no worker has queued, if the scope's worker waits in isolation.
    outside: OnceLock<Arc<OutsideJobs>>,
    core: ScopeCore<'static, Std>,
    marker: Marker<'scope>,
}

/// Runs `body` on the current pool, and returns when all jobs spawned in it have finished.
///
/// Jobs may borrow everything that outlives the call, and may spawn more jobs. The jobs that one
/// worker spawns start newest first, unless other workers steal them, except for [each
/// 128th](crate::spawn()). On a thread that is not a worker, the body also runs in the global pool:
/// on this thread in place of a sleeping worker, or else on a worker.
///
/// Each job takes at most one allocation; threads reuse the memory of small jobs. The stack does
/// not grow with the number of jobs.
///
/// # Panics
/// Resumes the first panic of the body or a job, when all have finished.
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
/// Jobs cannot borrow data that is dropped at the end of the body:
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
    CurrentPool::OWN.scope(body)
}

/// Runs a scope as [`scope()`] does, but runs the body on this thread, so that it need not be
/// `Send`.
///
/// # Examples
/// ```
/// let mut numbers = [1, 2, 3];
/// let this_thread = std::thread::current().id();
/// pool_std::in_place_scope(|scope| {
///     assert_eq!(std::thread::current().id(), this_thread);
///     for number in &mut numbers {
///         scope.spawn(|_| *number += 1);
///     }
/// });
/// assert_eq!(numbers, [2, 3, 4]);
/// ```
pub fn in_place_scope<'scope, F, R>(body: F) -> R
where
    F: FnOnce(&Scope<'scope>) -> R,
{
    PoolGuard::current().while_held(|registry| in_place_scope_on(registry, body))
}

pub(crate) fn in_place_scope_on<'scope, R>(
    registry: &Registry,
    body: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    // SAFETY: 1. the scope ends before this call does, and the caller lends us the registry for it.
    let (owner, base) = unsafe { ScopeBase::new(registry) };
    let scope = Scope { base };
    scope.base.complete(owner, || body(&scope))
}

impl<'scope> ScopeBase<'scope> {
    /// Creates a scope on this pool. Also returns the worker that this thread is, which waits for
    /// the scope.
    ///
    /// # Safety
    /// 1. The scope ends before the caller returns, and before the registry does.
    // Inlined, so that the scope is built in place: moving it costs as much as creating it.
    #[inline(always)]
    unsafe fn new(registry: &Registry) -> (Option<&'static WorkerThread>, Self) {
        // SAFETY: 1. this thread stays the worker until the caller returns, and by obligation 1 the
        // scope ends before.
        let owner = unsafe { WorkerThread::current() };
        // SAFETY: the scope, which has the reference, ends before the registry by obligation 1.
        let registry = unsafe { &*ptr::from_ref(registry) };
        let base = Self {
            core: ScopeCore::new(owner, registry),
            outside: OnceLock::new(),
            registry,
            marker: PhantomData,
        };
        (owner, base)
    }
}

/// A scope stores the panics of its jobs, which leave its count correct.
impl RefUnwindSafe for ScopeBase<'_> {}

impl ScopeBase<'_> {
    /// Runs the body, and waits for the jobs.
    fn complete<R>(&self, owner: Option<&WorkerThread>, body: impl FnOnce() -> R) -> R {
        // A worker runs what it can by itself, and ends the process when it would sleep.
        let waits = || owner.is_none() && self.core.has_pending_jobs();
        let body = || fork::abort_if_forked_in(self.registry, &waits, body);
        self.core.complete_by(body, |body| self.run(owner, body))
    }

    fn run(&self, owner: Option<&WorkerThread>, body: &mut dyn FnMut()) {
        let take = || self.outside.get()?.take();
        // SAFETY: 1. the queue gives out each job once.
        unsafe { self.core.run_taking(owner, &take, body) }
    }

    /// Queues a job for a thread that is not a worker of the scope's pool.
    ///
    /// # Safety
    /// 1. The reference is used for this alone.
    #[cold]
    unsafe fn inject(&self, job: JobRef) {
        let Some(waiter) = self.core.isolated_waiter() else {
            // SAFETY: 1. the queue needs no node.
            return unsafe { self.registry.inject(NO_NODE, job) };
        };
        let outside = self.outside.get_or_init(Arc::default);
        // SAFETY: 1. obligation 1 is forwarded to our caller; 2. a job of the scope keeps the pool,
        // or the scope's body does.
        unsafe { outside.push(self.registry, job) };
        self.registry.call_isolated_waiter(waiter);
    }
}

impl Drop for ScopeBase<'_> {
    fn drop(&mut self) {
        if let Some(outside) = self.outside.get_mut() {
            outside.end(self.registry);
        }
    }
}

impl AnyScope for Scope<'_> {
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
        // SAFETY: 1. the job is queued at once; 2. obligation 1 is forwarded to our caller.
        unsafe {
            scope_job(scope, None, move |scope| {
                BroadcastContext::with(|context| body(scope, context))
            })
        }
    });
}

impl<'scope> Scope<'scope> {
    /// Returns the pool that runs the jobs.
    pub(super) fn registry(&self) -> &Registry {
        self.base.registry
    }

    /// Spawns a job. The job receives the scope, so that it may spawn more.
    ///
    /// # Examples
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// let leaves = AtomicU32::new(0);
    /// pool_std::scope(|scope| {
    ///     scope.spawn(|scope| {
    ///         for _ in 0..10 {
    ///             scope.spawn(|_| _ = leaves.fetch_add(1, Ordering::Relaxed));
    ///         }
    ///     });
    /// });
    /// assert_eq!(leaves.into_inner(), 10);
    /// ```
    // Not within the caller's code, whose registers it would take.
    #[inline(never)]
    pub fn spawn<F>(&self, body: F)
    where
        F: FnOnce(&Self) + Send + 'scope,
    {
        // SAFETY: `uncounted_scope_job`: 1. it is queued at once; 2. `'scope` outlives the scope;
        // 3. `spawn_job` adds it. That: 1. the reference is used for this alone.
        unsafe { self.spawn_job(uncounted_scope_job(self, body)) };
    }

    /// Adds a job to the scope, and queues it.
    ///
    /// # Safety
    /// 1. The reference is used for this alone, and its execution calls [`ScopeCore::job_done`] for
    ///    this scope.
    #[inline]
    pub(super) unsafe fn spawn_job(&self, job: JobRef) {
        let worker = current_worker_of(self.base.registry);
        self.base.core.add_job(worker);
        // SAFETY: 1. is forwarded to our caller.
        unsafe {
            match worker {
                Some(worker) if self.base.core.may_post_on(worker) => worker.post(job),
                _ => self.base.inject(job),
            }
        }
    }

    /// Spawns jobs as [`spawn`](Self::spawn) does.
    ///
    /// The jobs that the iterator yields are queued in batches: up to 64 jobs need one fence and
    /// one decision about which workers to wake, whereas `spawn` needs one of each per job. The
    /// caller wakes a few sleeping workers, at most eight by default, and these wake others as long
    /// as there are jobs. A job may have to wait until the iterator has yielded 64 jobs or has
    /// ended. So the iterator must not wait for a job.
    ///
    /// # Panics
    /// Resumes a panic of the iterator, after spawning the jobs that it has yielded.
    ///
    /// # Examples
    /// ```
    /// let mut numbers = [1, 2, 3];
    /// pool_std::scope(|scope| {
    ///     scope.spawn_many(numbers.iter_mut().map(|number| move |_: &_| *number *= 10));
    /// });
    /// assert_eq!(numbers, [10, 20, 30]);
    /// ```
    pub fn spawn_many<I>(&self, bodies: I)
    where
        I: IntoIterator<Item: FnOnce(&Self) + Send + 'scope>,
    {
        // SAFETY: 1. `queue_many` queues it; 2. `'scope` outlives the scope; 3. by `add_jobs`.
        let job = |body| unsafe { uncounted_scope_job(self, body) };
        let registry = self.base.registry;
        let worker = self.base.worker_that_posts();
        if worker.is_none() && self.base.core.isolated_waiter().is_some() {
            // The worker that waits does not look into the injector.
            return bodies.into_iter().for_each(|body| self.spawn(body));
        }
        let add_jobs = |count| self.base.core.add_jobs(worker, count);
        queue_many(worker, registry, add_jobs, bodies.into_iter().map(job));
    }

    /// Spawns a job on each worker of the pool.
    ///
    /// # Examples
    /// ```
    /// let pool = pool_std::ThreadPoolBuilder::new().num_threads(3).build()?;
    /// let workers = std::sync::Mutex::new(Vec::new());
    /// pool.scope(|scope| {
    ///     scope.spawn_broadcast(|_, context| workers.lock().unwrap().push(context.index()));
    /// });
    /// assert_eq!(workers.into_inner().unwrap().len(), 3);
    /// # Ok::<(), pool_std::BuildError>(())
    /// ```
    pub fn spawn_broadcast<F>(&self, body: F)
    where
        F: Fn(&Self, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        // SAFETY: 1. `'scope` outlives the scope.
        unsafe { spawn_broadcast_in(self, self.base.registry, body) };
    }
}

impl ScopeBase<'_> {
    /// Returns the worker of this thread, if the thread is a worker of the scope's pool and [may
    /// post](ScopeCore::may_post_on) jobs of the scope on its deque.
    ///
    /// The reference must not outlive the caller's stay on the worker.
    #[inline]
    fn worker_that_posts(&self) -> Option<&WorkerThread> {
        current_worker_of(self.registry).filter(|worker| self.core.may_post_on(worker))
    }

    fn debug(&self, output: &mut fmt::DebugStruct<'_, '_>) -> fmt::Result {
        output
            .field("pool_id", &PoolId::of(self.registry))
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
