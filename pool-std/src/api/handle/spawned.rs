//! Jobs of a pool that have a handle.

use std::{
    convert::identity,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

use pool_core::{Job, JobHeader, JobRef, Priority};

use super::{
    JoinError, JoinHandle, ScopedJoinHandle,
    task::{AnyTask, Task},
};
use crate::{
    api::isolate::Inherited,
    api::spawn::{NO_NODE, PoolOfJob, current_worker_for_detached, post_or_inject},
    job_context::Context,
    platform::{Registry, WorkerThread},
    thread_pool::{current::with_job_reference, discard::Discard, handlers::Handlers},
};

#[cfg(test)]
mod tests;

/// Spawns a job on the current pool as [`spawn`](crate::spawn()) does, and returns a handle to its
/// result.
///
/// # Examples
/// ```
/// let job = pool_std::spawn_handle(|| (1..=10).product::<u32>());
/// // This thread does something else meanwhile.
/// assert_eq!(job.join().unwrap(), 3_628_800);
/// ```
pub fn spawn_handle<F, T>(job: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_job_reference(|registry| spawn_handle_on(registry, Always, job))
}

/// Spawns a job with a [`Priority`] on the current pool, and returns a handle to its result. See
/// [`spawn_urgent`](crate::spawn_urgent()) and [`spawn_background`](crate::spawn_background()) for
/// what the priorities mean. A job of [`Priority::Normal`] is one of [`spawn_handle`].
///
/// A worker that [joins](ScopedJoinHandle::join) the job runs it itself if no other worker has
/// started it, whatever its priority.
///
/// # Examples
/// ```
/// use pool_std::{Priority, spawn_handle_with};
///
/// let answer = spawn_handle_with(Priority::Urgent, || 6 * 7);
/// let cleanup = spawn_handle_with(Priority::Background, || drop(vec![0; 1000]));
/// assert_eq!(answer.join()?, 42);
/// cleanup.join()?;
/// # Ok::<(), pool_std::JoinError>(())
/// ```
#[doc(alias = "priority")]
pub fn spawn_handle_with<F, T>(priority: Priority, job: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    with_job_reference(|registry| spawn_handle_with_on(registry, priority, job))
}

/// Spawns a job as [`spawn_handle`] does, on a pool. The caller must have added a reference to the
/// pool for the job. The registry must live until the call returns, even if the job ends before.
/// The job is aborted if it is no longer wanted when it would begin.
pub(crate) fn spawn_handle_on<W, F, T>(registry: &Registry, wanted: W, job: F) -> JoinHandle<T>
where
    W: Wanted,
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: 1. the job is used only for this.
    let queue = |job| unsafe {
        post_or_inject(current_worker_for_detached(registry), registry, job);
    };
    spawn_task(registry, wanted, job, queue)
}

/// Spawns a job as [`spawn_handle_on`] does, with a priority.
pub(crate) fn spawn_handle_with_on<F, T>(
    registry: &Registry,
    priority: Priority,
    job: F,
) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    if priority == Priority::Normal {
        return spawn_handle_on(registry, Always, job);
    }
    // SAFETY: 1. the queue needs no node.
    let queue = |job| unsafe { registry.inject_with(priority, NO_NODE, job) };
    spawn_task(registry, Always, job, queue)
}

/// Spawns a job in the context and the isolation of the caller, by a closure that queues it and
/// uses it for nothing else.
fn spawn_task<W, F, T>(
    registry: &Registry,
    wanted: W,
    job: F,
    queue: impl FnOnce(JobRef),
) -> JoinHandle<T>
where
    W: Wanted,
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (context, isolation) = (Context::current(), Inherited::by_job_of(registry));
    let job = move || isolation.run(|| context.run(job));
    let task: *mut SpawnedTask<W, _, T> = Task::create(Spawned::new(registry, wanted), job);
    // This comes before the job can run and end.
    //
    // SAFETY: 1. the task was created for this handle and the queue, just now; 2. by our bounds.
    let handle = unsafe { ScopedJoinHandle::new(task, registry) };
    // SAFETY: 1. the task lives until its execution has ended the queue's reference; 2. the closure
    // and the result are `Send`.
    queue(unsafe { JobRef::new(task.cast_const()) });
    handle
}

/// Says whether a job is still wanted when it would begin.
pub(crate) trait Wanted: Send + Sync + 'static {
    fn is_wanted(&self) -> bool;
}

/// For a job that only its handle can abort.
pub(crate) struct Always;

impl Wanted for Always {
    #[inline]
    fn is_wanted(&self) -> bool {
        true
    }
}

/// What a queue needs of a task that was spawned on a pool.
#[repr(C)]
struct Spawned<W, F, T> {
    header: JobHeader,
    pool: PoolOfJob,
    wanted: W,
    /// The header is for a task of these types.
    task: PhantomData<fn(F) -> T>,
}

type SpawnedTask<W, F, T> = Task<Spawned<W, F, T>, F, T>;

impl<W: Wanted, F: FnOnce() -> T + Send + 'static, T: Send + 'static> Spawned<W, F, T> {
    fn new(registry: &Registry, wanted: W) -> Self {
        Self {
            header: JobHeader::new::<SpawnedTask<W, F, T>>(),
            pool: PoolOfJob::new(registry),
            wanted,
            task: PhantomData,
        }
    }
}

// SAFETY: 1. the header comes first, in `Task` and in `Spawned`; `Spawned::new` makes it for this
// type.
unsafe impl<W, F, T> Job for SpawnedTask<W, F, T>
where
    W: Wanted,
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    unsafe fn execute(this: *const ()) {
        let task: *mut Self = this.cast_mut().cast();
        // SAFETY: by obligations 1 and 2 this is the pointer of `spawn_handle_on`, used once. 1.
        // This thread runs the job.
        let registry: *const Registry = unsafe { (*task).kind.pool.get() };
        // SAFETY: as above. The registry lives as long as the job's reference to it, which is
        // removed last.
        let registry = unsafe { &*registry };
        let data = registry.data();
        if data.discard.is_on() {
            // SAFETY: as above.
            Discard::drop_job(registry, || unsafe { (*task).abort() });
        }
        // SAFETY: as above.
        unsafe { (*task).abort_unless_wanted(&data.handlers) };
        // SAFETY: 1. as above.
        let ended = unsafe { Task::run(task, |closure| closure()) };
        data.handlers.handle_panic("a spawned job", ended);
        registry.remove_reference_of_job();
    }
}

impl<W: Wanted, F: FnOnce() -> T, T> SpawnedTask<W, F, T> {
    /// Runs the job as [`Job::execute`] does, but returns the result. Does not change the state of
    /// the job, since no other thread knows about the job.
    ///
    /// # Safety
    /// 1. As for [`take_apart`](Self::take_apart), on `worker`, which is one of the job's pool.
    unsafe fn end_here(this: *mut Self, worker: &WorkerThread) -> Result<T, JoinError> {
        let registry = worker.registry();
        let data = registry.data();
        // SAFETY: 1. is forwarded to our caller.
        let (kind, content) = unsafe { Self::take_apart(this) };
        let result = content.map_or_else(identity, |closure| {
            if data.discard.is_on() {
                Discard::drop_job(registry, || {
                    drop(closure);
                    true
                });
            } else if kind.wanted.is_wanted() {
                return catch_unwind(AssertUnwindSafe(closure)).map_err(JoinError::panicked);
            } else {
                let drop_closure = || drop(closure);
                (data.handlers).run_and_handle_panic("the drop of a cancelled job", drop_closure);
            }
            Err(JoinError::aborted())
        });
        worker.remove_reference();
        result
    }
}

impl<W: Wanted, F, T> SpawnedTask<W, F, T> {
    /// Drops the closure of a job that is no longer wanted, if the job has not begun.
    #[inline]
    fn abort_unless_wanted(&self, handlers: &Handlers) {
        if !self.kind.wanted.is_wanted() {
            handlers.run_and_handle_panic("the drop of a cancelled job", || _ = self.abort());
        }
    }
}

impl<W, F, T> AnyTask<T> for SpawnedTask<W, F, T>
where
    W: Wanted,
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    unsafe fn join_on(this: *mut Self, worker: &WorkerThread) -> Option<Result<T, JoinError>> {
        // SAFETY: 1. the caller has both references, and the handle's has left no waiter.
        let end_here = || unsafe { Self::end_here(this, worker) };
        // SAFETY: 1. is forwarded to our caller.
        unsafe { Task::help_until_done(this, worker, end_here) }
    }

    fn run_here(&self, registry: &Registry) {
        while_referenced(registry, || {
            let data = registry.data();
            if data.discard.is_on() {
                Discard::drop_job(registry, || self.abort());
            }
            let handlers = &data.handlers;
            self.abort_unless_wanted(handlers);
            handlers.handle_panic("a waker", self.run_here(|closure| closure()));
        });
    }

    fn abort(&self) -> bool {
        self.abort()
    }
}

/// Runs a job on a worker that has its handle. Meanwhile the queue's job may run and remove its
/// reference to the pool, so this adds a reference, unless the pool has ended and no longer has the
/// job.
pub(super) fn while_referenced(registry: &Registry, run: impl FnOnce()) {
    let is_counted = registry.try_add_reference_of_job();
    run();
    if is_counted {
        registry.remove_reference_of_job();
    }
}
