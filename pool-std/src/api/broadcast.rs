//! Broadcasts: the same job on every worker.

use std::{
    fmt,
    sync::{Arc, PoisonError},
};

use pool_core::{JobRef, Platform as _, ScopeCore};

use crate::{
    api::{
        scope_job::scope_job,
        spawn::{NO_NODE, counted_job},
    },
    panics::{abort_with, drop_quietly},
    platform::{Registry, Std, WorkerThread},
    sync::{Mutex, lock},
    thread_pool::{current::PoolGuard, id::PoolId},
};

/// Identifies the worker that a broadcast job runs on.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let workers = pool.broadcast(|context| (context.index(), context.num_threads()));
/// assert_eq!(workers, [(0, 2), (1, 2)]);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub struct BroadcastContext<'a> {
    worker: &'a WorkerThread,
}

impl BroadcastContext<'_> {
    /// Runs a job of a broadcast, on a worker of its pool.
    pub(crate) fn with<R>(job: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        // SAFETY: 1. the thread stays the worker at least until the job returns.
        let worker = unsafe { WorkerThread::current() }.expect("broadcast jobs run on workers");
        job(BroadcastContext { worker })
    }

    /// Returns the number of the worker that this job runs on.
    pub fn index(&self) -> usize {
        self.worker.index().get()
    }

    /// Returns the number of workers, which is the number of jobs in the broadcast.
    pub fn num_threads(&self) -> usize {
        self.worker.registry().num_workers()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool_id", &PoolId::of(self.worker.registry()))
            .finish()
    }
}

/// Runs a closure on every worker of the current pool and returns the results in the workers'
/// order.
///
/// Each worker runs its broadcast job when it has finished its current job and the jobs on its own
/// deque. It may run it earlier, instead of each 128th job of the deque.
///
/// # Panics
/// Resumes the panic of the worker with the lowest number, when all jobs have finished.
///
/// # Examples
/// ```
/// let pool = pool_std::ThreadPoolBuilder::new().num_threads(3).build()?;
/// assert_eq!(pool.broadcast(|context| context.index() * 10), [0, 10, 20]);
/// # Ok::<(), pool_std::BuildError>(())
/// ```
pub fn broadcast<F, R>(job: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    broadcast_on(PoolGuard::current().registry(), || (), job)
}

/// Spawns a job on every worker of the current pool, without waiting for them.
///
/// Panics are handled as for a [spawned](crate::spawn()) job.
///
/// # Examples
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// pool_std::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
/// let mut indices: Vec<_> = receiver.iter().collect();
/// indices.sort_unstable();
/// assert!(indices.into_iter().eq(0..pool_std::current_num_threads()));
/// ```
pub fn spawn_broadcast<F>(job: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    spawn_broadcast_on(PoolGuard::current().registry(), job);
}

/// Runs a job on each worker. Each job holds a value from `visit` until the job ends. If a job ends
/// before its closure runs, the value is dropped nevertheless. This happens if code that follows
/// jobs, such as a subscriber of `tracing`, panics.
pub(crate) fn broadcast_on<R: Send, V: Send>(
    registry: &Registry,
    visit: impl Fn() -> V,
    job: impl Fn(BroadcastContext<'_>) -> R + Sync,
) -> Vec<R> {
    // SAFETY: 1. this thread stays the worker until the call returns.
    let owner = unsafe { WorkerThread::current() };
    let results: Vec<_> = (0..registry.num_workers())
        .map(|_| Mutex::new(None))
        .collect();
    let scope = ScopeCore::<Std>::new(owner, registry);
    scope.complete(owner, || {
        let jobs = results.iter().map(|result| {
            let (job, visit) = (&job, visit());
            let body = move |_: &ScopeCore<'_, Std>| {
                let _visit = visit;
                let returned = Std::catch_unwind(|| BroadcastContext::with(job));
                *lock(result) = Some(returned);
            };
            // SAFETY: 1. it is queued below; 2. all that is borrowed is in this frame, which waits.
            unsafe { scope_job(&scope, None, body) }
        });
        inject(registry, jobs.collect());
    });
    let mut panic = None;
    let mut returned = Vec::with_capacity(results.len());
    for result in results {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        match result.expect("each job leaves a result") {
            Ok(result) => returned.push(result),
            Err(first) if panic.is_none() => panic = Some(first),
            Err(later) => drop_quietly(later),
        }
    }
    match panic {
        None => returned,
        Some(panic) => {
            drop_quietly(returned);
            Std::resume_unwind(panic)
        }
    }
}

pub(crate) fn spawn_broadcast_on(
    registry: &Registry,
    job: impl Fn(BroadcastContext<'_>) + Send + Sync + 'static,
) {
    let job = Arc::new(job);
    inject_on_each(registry, || {
        let job = job.clone();
        registry.add_reference();
        // SAFETY: 1. it is queued at once.
        unsafe { counted_job(registry, move || BroadcastContext::with(&*job)) }
    });
}

/// Makes a job for each worker, and queues them.
pub(crate) fn inject_on_each(registry: &Registry, mut job: impl FnMut() -> JobRef) {
    let jobs = (0..registry.num_workers()).map(|_| job()).collect();
    inject(registry, jobs);
}

/// Queues one job on each worker. The caller makes all of them before, because that may panic.
fn inject(registry: &Registry, jobs: Vec<JobRef>) {
    // The handler runs under a lock. A thread that holds one of the locks below may wait for the
    // handler's lock.
    if registry.data().reporting.is_here() {
        abort_with("pool-std: a deadlock handler used a broadcast; aborting");
    }
    let _broadcasting = lock(&registry.data().broadcasting);
    // SAFETY: 1. the queues need no node.
    unsafe { registry.inject_broadcast(jobs.into_iter().map(|job| (NO_NODE, job))) };
    registry.data().active.revive_for_inboxes(registry);
}
